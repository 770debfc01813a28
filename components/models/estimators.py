"""scikit-learn's classifiers and regressors by class name, and the check of their parameters."""

import inspect
from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from numbers import Integral
from typing import Any, cast
from warnings import catch_warnings

import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import _param_validation as validation
from sklearn.utils import get_tags
from sklearn.utils.discovery import all_estimators

from components.models import target as targets
from components.models.declarations import AnySklearn, SklearnDeclaration, Task
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault

KINDS: dict[Task, str] = {"classification": "classifier", "regression": "regressor"}

FIRST = ("linear_model", "ensemble", "tree")
"""Where most estimators that are asked for are; the other packages of scikit-learn follow."""

PLAIN_WORDS = {
    "boolean": "true or false",
    "random_state": "a whole number",
    "array-like": "a list",
    "verbose": "a whole number",
}

ClassifierOrRegressor = SklearnDeclaration | AnySklearn


@cache
def available(task: Task) -> dict[str, type[BaseEstimator]]:
    """Return scikit-learn's classifiers or regressors by class name.

    This takes seconds: it imports all of scikit-learn, and torch with it. `named` finds one.
    """
    return dict(all_estimators(type_filter=KINDS[task]))


@cache
def named(name: str, task: Task) -> type[BaseEstimator] | None:
    """Return one of `available`, or None where there is none of this name."""
    mixin = ClassifierMixin if task == "classification" else RegressorMixin
    for package in dict.fromkeys((*FIRST, *sklearn.__all__)):
        with suppress(ImportError):
            found = getattr(import_module(f"sklearn.{package}"), name, None)
            if isinstance(found, type) and issubclass(found, BaseEstimator) and issubclass(found, mixin):
                return None if inspect.isabstract(found) else found
    return available(task).get(name)


def make(params: ClassifierOrRegressor, schema: DatasetSchema, random_state: int) -> BaseEstimator:
    """Return the estimator that a declaration asks for; its ``random_state`` is set where the user sets none.

    Raises
    ------
    ConfigurationError
        With all that `check` finds.
    """
    wrong = check(params, schema)
    if wrong or schema.task is None:
        raise ConfigurationError(wrong)
    name, given, _ = _asked(params, schema.task)
    chosen = cast("type[BaseEstimator]", named(name, schema.task))  # else check would have told
    seedless = "random_state" not in _parameters(chosen) or given.get("random_state") is not None
    return _made(chosen, given if seedless else given | {"random_state": random_state})


def check(params: ClassifierOrRegressor, schema: DatasetSchema) -> list[Fault]:
    """Return all that is wrong with an estimator's name, task and parameters.

    Parameters
    ----------
    params : SklearnDeclaration or AnySklearn
    schema : DatasetSchema
        Gives task, target and classes.

    Returns
    -------
    list of Fault
        Places are config paths, such as ``model.params.max_depth``.
    """
    wrong = targets.faults(schema)
    if wrong or schema.task is None:
        return wrong
    name, given, prefix = _asked(params, schema.task)
    chosen = named(name, schema.task)
    if chosen is None:
        return [_absent(name, params, schema.task)]
    wrong = _parameter_faults(chosen, given, prefix)
    if isinstance(given.get("class_weight"), dict):
        wrong += _weight_faults(given["class_weight"], schema, f"{prefix}class_weight")
    return wrong or _unfit(_made(chosen, given))


def _made(chosen: type[BaseEstimator], given: Mapping[str, Any]) -> BaseEstimator:
    """Make an estimator; that its class is deprecated is noted when it is fitted."""
    with catch_warnings(action="ignore"):
        return chosen(**given)


def _asked(params: ClassifierOrRegressor, task: Task) -> tuple[str, dict[str, Any], str]:
    """Return class name, parameters and the config path that parameters stand under."""
    if isinstance(params, AnySklearn):
        return params.estimator, dict(params.params), "model.params."
    return params.estimators.get(task, ""), params.model_dump(exclude={"name"}), "model."


def _absent(name: str, params: ClassifierOrRegressor, task: Task) -> Fault:
    """Say why there is no such class for the task."""
    if not isinstance(params, AnySklearn):
        return Fault("model", f"{params.name} is not for {task}", f"it is for {', '.join(params.estimators)}")
    other: Task = "regression" if task == "classification" else "classification"
    known = available(task)
    if named(name, other):
        twin = name.removesuffix("Classifier").removesuffix("Regressor") + KINDS[task].capitalize()
        remedy = f"use {twin}" if twin in known else f"choose a {KINDS[task]}"
        return Fault("model.estimator", f"{name} is a {KINDS[other]}", f"the dataset's task is {task}", remedy)
    return Fault("model.estimator", f"scikit-learn has no {KINDS[task]} {name}", remedy=_nearest(name, known))


def _parameters(chosen: type[BaseEstimator]) -> dict[str, inspect.Parameter]:
    kinds = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    return {name: item for name, item in inspect.signature(chosen).parameters.items() if item.kind not in kinds}


def _parameter_faults(chosen: type[BaseEstimator], given: Mapping[str, Any], prefix: str) -> list[Fault]:
    known = _parameters(chosen)
    unknown = [
        Fault(f"{prefix}{key}", f"{chosen.__name__} has no such parameter", remedy=_nearest(key, known))
        for key in given
        if key not in known
    ]
    needed = [
        Fault(
            f"{prefix}{key}",
            f"{chosen.__name__} needs it",
            "another estimator, which a configuration can't hold",
            "choose another class",
        )
        for key, item in known.items()
        if item.default is inspect.Parameter.empty and key not in given
    ]
    rules: dict[str, Any] = getattr(chosen, "_parameter_constraints", {})
    invalid = [
        Fault(f"{prefix}{key}", f"can't be {_shown(given[key])}", _allowed(rules[key]))
        for key in given
        if key in known and key in rules and not _valid(given[key], rules[key])
    ]
    return unknown + needed + invalid


def _valid(value: Any, rules: Any) -> bool:
    """Apply scikit-learn's own constraints; a boolean is no number."""
    if rules == "no_validation":
        return True
    if isinstance(value, bool):
        return any(rule in ("boolean", "verbose") or rule is bool or _lists(rule, value) for rule in rules)
    return any(validation.make_constraint(rule).is_satisfied_by(value) for rule in rules)


def _lists(rule: Any, value: bool) -> bool:  # noqa: FBT001  # it is the value that is judged
    return isinstance(rule, validation.Options) and any(option is value for option in rule.options)


def _allowed(rules: Iterable[Any]) -> str:
    words = [_words(rule) for rule in rules if not getattr(rule, "hidden", False)]
    return ", or ".join(dict.fromkeys(word for word in words if word))


def _words(rule: Any) -> str:
    """Say one constraint in our words; nothing where a configuration can't meet it."""
    if rule is None:
        return "null"
    if isinstance(rule, str):
        return PLAIN_WORDS.get(rule, "")
    if isinstance(rule, validation.Interval):
        kind = "a whole number" if rule.type is Integral else "a number"
        signs = (">=" if rule.closed in {"left", "both"} else ">", "<=" if rule.closed in {"right", "both"} else "<")
        bounds = zip(signs, (rule.left, rule.right), strict=True)
        said = [f"{sign} {str(bound).removesuffix('.0')}" for sign, bound in bounds if bound is not None]
        return " ".join([kind, *said[:1], *(f"and {part}" for part in said[1:])])
    if isinstance(rule, validation.Options):
        return "one of " + ", ".join(sorted(map(str, rule.options)))
    return {bool: "true or false", dict: "a mapping", list: "a list", str: "a text", tuple: "a list"}.get(rule, "")


def _weight_faults(weights: Mapping[Any, Any], schema: DatasetSchema, place: str) -> list[Fault]:
    """Check the classes that weights are given for, as far as they are declared."""
    try:
        classes = targets.Target.from_schema(schema).classes
    except ConfigurationError:
        return []  # learned later
    strangers = [str(key) for key in weights if key not in classes]
    if not strangers:
        return []
    return [Fault(place, f"no such class: {', '.join(strangers)}", f"one of {', '.join(map(str, classes))}")]


def _unfit(estimator: BaseEstimator) -> list[Fault]:
    """Say why an estimator can't learn one target from a table of features."""
    name = type(estimator).__name__
    try:
        tags = get_tags(estimator)
    except AttributeError:
        return [Fault("model.estimator", f"{name} wraps another estimator, which a configuration can't hold")]
    if not tags.target_tags.single_output:
        return [Fault("model.estimator", f"{name} learns several targets at once", "one target")]
    if tags.input_tags.one_d_array:
        return [Fault("model.estimator", f"{name} takes a single feature", "a table of features")]
    return []


def _nearest(name: str, known: Iterable[str]) -> str:
    options = {option.lower(): option for option in known}
    close = get_close_matches(name.lower(), options, n=1)
    return f"did you mean {options[close[0]]}?" if close else ""


def _shown(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
