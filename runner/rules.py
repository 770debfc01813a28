"""Rules between the sections of a configuration, each a small function that yields what breaks it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from components.anonymization.pipeline import rules as step_rules
from components.anonymization.search_rules import search_faults
from components.minimization.rules import column_faults
from runner import criteria_rules
from runner.alone import ABSENT, REMEDIES, alone
from runner.comparison_rules import comparison_faults
from runner.federation_rules import federation_faults
from runner.provenance import Layer, origin
from runner.suggest import did_you_mean, nearest
from runner.tree import Resolved, get, holds
from schemas.dataset import NUMERIC, TEMPORAL, Column, DatasetSchema
from schemas.faults import Fault
from schemas.run_config import RunConfig

MANY = 12
"""Names of columns that one sentence lists."""


@dataclass(frozen=True)
class Facts:
    """What the rules look at: the typed configuration, the tree it came from and who set what.

    ``doubted`` names the columns that have a fault already: what a rule finds in them may only follow from it.
    ``chosen`` names the groups whose option, or a setting of it, somebody gave: all others are as shipped.
    """

    run: RunConfig
    resolved: Resolved
    layers: list[Layer]
    doubted: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()

    @property
    def data(self) -> DatasetSchema:
        """The dataset's schema."""
        return self.run.dataset


Rule = Callable[[Facts], Iterator[Fault]]


def broken_rules(facts: Facts, unsure: set[str]) -> list[Fault]:
    """Return the faults of all rules that can be judged.

    Parameters
    ----------
    facts : Facts
    unsure : set of str
        Sections that hold stand-ins; rules that look at one of them are passed over.
    """
    return [fault for rule, sections in RULES if not unsure & sections for fault in rule(facts)]


def columns_exist(facts: Facts) -> Iterator[Fault]:
    """Ask that targets, subject id and client are columns of the schema."""
    names = facts.data.names()
    for key, named in _named(facts.data):
        if named not in names:
            yield Fault(
                f"dataset.{key}",
                f"{named!r} is no column of the schema",
                _one_of(names),
                did_you_mean(nearest(named, names)),
            )


def columns_are_kept(facts: Facts) -> Iterator[Fault]:
    """Ask that each column the run works with has a role that goes with that."""
    fitting: dict[str, set[str]] = {
        "target": {"quasi_identifier", "sensitive", "insensitive"},
        "subject_id": {"identifier"},  # it names the person: it is counted by, and never released
        "client": {"identifier", "quasi_identifier", "sensitive", "insensitive"},
    }
    for key, named in _named(facts.data):
        column, roles = _column(facts.data, named), fitting[key]
        if column is not None and column.role is not None and column.role not in roles:
            article = "a" if key == "target" and len(facts.data.targets) > 1 else "the"
            yield Fault(
                f"dataset.columns.{column.name}.role",
                f"the column is {article} {key.replace('_', ' ')}, and its role is {column.role}",
                _one_of(sorted(roles)),
            )


def target_has_a_task(facts: Facts) -> Iterator[Fault]:
    """Ask for target and task together."""
    data = facts.data
    if data.target is not None and data.task is None:
        yield Fault("dataset.task", "a target without a task", "classification or regression")
    if data.task is not None and data.target is None:
        yield Fault("dataset.target", "a task without a target", _one_of(data.names()))


def model_has_a_target(facts: Facts) -> Iterator[Fault]:
    """Ask for something that the model can learn."""
    if facts.run.model.name != ABSENT and facts.data.target is None and facts.data.task is None:
        yield Fault(
            "dataset.target",
            f"the model {facts.run.model.name} needs a target and a task",
            _one_of(facts.data.names()),
            "set dataset.target and dataset.task, or choose model=none",
        )


def model_does_the_task(facts: Facts) -> Iterator[Fault]:
    """Ask for a model that does the dataset's task."""
    served: dict[str, str] | None = getattr(type(facts.run.model), "estimators", None)
    if served and facts.data.task is not None and facts.data.task not in served:
        yield Fault(
            "model.name",
            f"the model {facts.run.model.name} can't do {facts.data.task}, the dataset's task",
            f"it does {' and '.join(served)}",
            "choose another model",
        )


def model_has_test_rows(facts: Facts) -> Iterator[Fault]:
    """Ask for rows to judge a model on."""
    if facts.run.model.name != ABSENT and facts.data.split.test == 0:
        yield Fault(
            "dataset.split.test",
            f"0 leaves no rows to judge the model {facts.run.model.name} on",
            "more than 0 and less than 1",
            "hold some rows out, or choose model=none",
        )


def target_is_complete(facts: Facts) -> Iterator[Fault]:
    """Ask that no row that is kept lacks a target."""
    for name in facts.data.targets:
        column = _column(facts.data, name)
        if column is not None and column.nullable and facts.data.missing.rows == "keep":
            yield Fault(
                f"dataset.columns.{column.name}.nullable",
                "the target may be missing, and rows with missing cells are kept",
                remedy="set dataset.missing.rows=drop, or nullable: false",
            )


def columns_have_roles(facts: Facts) -> Iterator[Fault]:
    """Ask for a role of every column, unless the schema says what becomes of those without."""
    bare = [column.name for column in facts.data.columns if column.role is None and column.name not in facts.doubted]
    if bare and facts.data.undeclared == "refuse":
        yield Fault(
            "dataset.columns",
            f"without a role: {listed(bare)}",
            "identifier, quasi_identifier, sensitive, insensitive or drop",
            "give each a role, or set dataset.undeclared=drop",
        )


def method_has_a_model(facts: Facts) -> Iterator[Fault]:
    """Ask for a model where the method follows one."""
    if getattr(type(facts.run.anonymization), "needs_model", False) and facts.run.model.name == ABSENT:
        yield Fault(
            "anonymization.name",
            f"the method {facts.run.anonymization.name} follows a model, and none is chosen",
            remedy="choose a model, such as model=tree",
        )


def minimization_has_a_model(facts: Facts) -> Iterator[Fault]:
    """Ask for a model where somebody chose to minimise its inputs; the default is passed over without one."""
    chosen = facts.run.minimization.name
    if chosen != ABSENT and facts.run.model.name == ABSENT and "minimization" in facts.chosen:
        yield Fault(
            "minimization.name",
            f"the method {chosen} minimises what a model is told, and there is no model",
            remedy="choose a model, such as model=tree, or minimization=none",
        )


def minimized_columns_are_inputs(facts: Facts) -> Iterator[Fault]:
    """Ask that what is to be minimised is what the model sees."""
    if facts.run.model.name != ABSENT and not facts.doubted:
        yield from column_faults(facts.run.minimization, facts.data)


def method_has_quasi_identifiers(facts: Facts) -> Iterator[Fault]:
    """Ask for something to generalise."""
    if facts.run.anonymization.name != ABSENT and not facts.data.quasi_identifiers and not facts.doubted:
        yield Fault(
            "dataset.columns",
            "no column has the role quasi_identifier, so there is nothing to anonymise",
            remedy="give the columns that may single out a person that role, or choose anonymization=none",
        )


def method_has_hierarchies(facts: Facts) -> Iterator[Fault]:
    """Ask for a hierarchy of every quasi-identifier where the method as a whole climbs them."""
    method = facts.run.anonymization
    sure = [name for name in facts.data.quasi_identifiers if name not in facts.doubted]
    bare = [name for name in sure if facts.data.column(name).hierarchy is None]
    if bare and getattr(type(method), "needs_hierarchies", False):
        yield Fault(
            "dataset.columns",
            f"the method {method.name} needs a hierarchy for every quasi-identifier; without one: {listed(bare)}",
            remedy="give each a hierarchy"
            + (", or choose anonymization=mondrian, which needs none" if facts.run.federation.name == ABSENT else ""),
        )


def identifiers_are_identifiers(facts: Facts) -> Iterator[Fault]:
    """Ask that what is masked or pseudonymised is an identifier, and that no subject id is masked."""
    known = facts.data.names("identifier")
    for name, how in getattr(facts.run.anonymization, "identifiers", {}).items():
        place = f"anonymization.identifiers.{name}"
        if name in facts.doubted:
            continue
        if name not in known:
            yield Fault(
                place,
                "names no column with the role identifier",
                _one_of(known) if known else "the dataset has no identifier",
                did_you_mean(nearest(name, known)),
            )
        elif how.name == "mask" and name == facts.data.subject_id:
            yield Fault(
                f"{place}.name",
                "the column is the subject id, and a mask would make one person of several",
                "pseudonymise",
                "pseudonymise it, or leave it out",
            )


def criteria_go_with_the_data(facts: Facts) -> Iterator[Fault]:
    """Ask for criteria that the dataset's columns and population can be held to."""
    criteria = _criteria(facts)
    yield from criteria_rules.repeated(criteria, facts.data)
    yield from criteria_rules.population_faults(criteria, facts.data)
    if facts.doubted:
        return
    yield from criteria_rules.column_faults(criteria, facts.data)
    yield from criteria_rules.distance_faults(criteria, facts.data)
    yield from criteria_rules.unreachable(criteria, facts.data)


def steps_fit_the_columns(facts: Facts) -> Iterator[Fault]:
    """Ask that each step of a pipeline names quasi-identifiers that it can do something to."""
    if not facts.doubted:
        yield from step_rules.step_faults(getattr(facts.run.anonymization, "steps", []), facts.data)


def searches_fit_the_columns(facts: Facts) -> Iterator[Fault]:
    """Ask that weights and level ranges are those of quasi-identifiers, and mean something."""
    if not facts.doubted:
        yield from search_faults(facts.run.anonymization, facts.data)


def k_is_given_once(facts: Facts) -> Iterator[Fault]:
    """Refuse two k that someone gave; one in the criteria wins over the anonymization.k that ships."""
    setter = origin(facts.layers, ("anonymization", "k"))
    if setter is None or setter.shipped:
        return
    for index, criterion in enumerate(_criteria(facts)):
        written = _raw(facts, "anonymization", "criteria", index, "k")
        if (
            criterion.name == "k"
            and isinstance(written, int)
            and written != getattr(facts.run.anonymization, "k", None)
        ):
            yield Fault(
                f"anonymization.criteria.{index}.k",
                f"{written} here, and anonymization.k is given too ({setter.label})",
                remedy="give one of them, or write k: ${anonymization.k} here",
            )


def inputs_are_declared(facts: Facts) -> Iterator[Fault]:
    """Ask for inputs that can be encoded from the schema alone, unless learning from rows is allowed."""
    if facts.run.model.name == ABSENT or facts.run.encoder.learn:
        return
    sure = [name for name in facts.data.features if name not in facts.doubted]
    open_ones = [name for name in sure if _is_open(facts.data.column(name))]
    if open_ones:
        yield Fault(
            "dataset.columns",
            f"inputs of the model without declared values (text, category) or both bounds (numbers, dates): "
            f"{listed(open_ones)}",
            remedy="declare values, or min and max; or set encoder.learn=true, which makes the model file raw",
        )


def privacy_noise_meets_no_learned_encoder(facts: Facts) -> Iterator[Fault]:
    """Refuse to learn an encoder from rows under differential privacy, which that would void."""
    if facts.run.encoder.learn and facts.run.dp.name != ABSENT:
        yield Fault(
            "encoder.learn",
            "categories and bounds learned from rows can't go with differential privacy",
            remedy="declare values and bounds in the schema and set encoder.learn=false, or choose dp=none",
        )


def federation_has_a_use(facts: Facts) -> Iterator[Fault]:
    """Ask that a federation can be."""
    why = alone(facts.run)
    if why and facts.run.federation.name != ABSENT:
        yield Fault(
            "federation.name",
            f"sites can't train together: {why}",
            REMEDIES.get(why.partition("=")[0], "a model and a method that sites can share"),
            "change that, or choose federation=none",
        )


def noise_has_a_federation(facts: Facts) -> Iterator[Fault]:
    """Ask for a federation where there is noise: it stands between its clients and the others."""
    if facts.run.federation.name == ABSENT and facts.run.dp.name != ABSENT:
        yield Fault(
            "dp.name",
            f"the noise of dp={facts.run.dp.name} is that of clients in training, and there is no federation",
            remedy="choose a federation, such as federation=fedavg, or dp=none",
        )


def federation_is_sound(facts: Facts) -> Iterator[Fault]:
    """Ask for what a federation's parts need of each other, and for an epsilon that holds."""
    if not alone(facts.run):
        yield from federation_faults(facts.run)


def comparison_is_sound(facts: Facts) -> Iterator[Fault]:
    """Ask for scenarios that mean something beside each other."""
    if facts.run.comparison is not None:
        yield from comparison_faults(facts.run)


RULES: tuple[tuple[Rule, frozenset[str]], ...] = (
    (columns_have_roles, frozenset({"dataset"})),
    (columns_exist, frozenset({"dataset"})),
    (columns_are_kept, frozenset({"dataset"})),
    (target_has_a_task, frozenset({"dataset"})),
    (target_is_complete, frozenset({"dataset"})),
    (model_has_a_target, frozenset({"dataset", "model"})),
    (model_does_the_task, frozenset({"dataset", "model"})),
    (model_has_test_rows, frozenset({"dataset", "model"})),
    (inputs_are_declared, frozenset({"dataset", "model", "encoder"})),
    (method_has_a_model, frozenset({"anonymization", "model"})),
    (minimization_has_a_model, frozenset({"minimization", "model"})),
    (minimized_columns_are_inputs, frozenset({"dataset", "minimization", "model"})),
    (method_has_quasi_identifiers, frozenset({"dataset", "anonymization"})),
    (method_has_hierarchies, frozenset({"dataset", "anonymization"})),
    (identifiers_are_identifiers, frozenset({"dataset", "anonymization"})),
    (criteria_go_with_the_data, frozenset({"dataset", "anonymization"})),
    (steps_fit_the_columns, frozenset({"dataset", "anonymization"})),
    (searches_fit_the_columns, frozenset({"dataset", "anonymization"})),
    (k_is_given_once, frozenset({"anonymization"})),
    (privacy_noise_meets_no_learned_encoder, frozenset({"encoder", "dp"})),
    (federation_has_a_use, frozenset({"dataset", "model", "anonymization", "federation", "dp"})),
    (noise_has_a_federation, frozenset({"federation", "dp"})),
    (federation_is_sound, frozenset({"dataset", "model", "anonymization", "federation", "dp", "encoder"})),
    (
        comparison_is_sound,
        frozenset({"dataset", "model", "anonymization", "federation", "dp", "encoder", "comparison"}),
    ),
)
"""Every rule with the sections that it looks at."""


def _criteria(facts: Facts) -> list[Any]:
    return list(getattr(facts.run.anonymization, "criteria", []))


def _raw(facts: Facts, *path: str | int) -> Any:
    return get(facts.resolved.raw, path) if holds(facts.resolved.raw, path) else None


def _named(data: DatasetSchema) -> Iterator[tuple[str, str]]:
    """Yield the columns that a dataset gives a part beside their role, each with the key that does so."""
    yield from (("target", name) for name in data.targets)
    yield from ((key, name) for key in ("subject_id", "client") if (name := getattr(data, key)) is not None)


def _column(data: DatasetSchema, name: str) -> Column | None:
    return data.column(name) if name in data.names() else None


def _is_open(column: Column) -> bool:
    """Tell whether encoding a column would have to learn from rows; one-hot columns are taken as they are."""
    if column.dtype in NUMERIC | TEMPORAL:
        return column.group is None and (column.min is None or column.max is None)
    return column.dtype in {"text", "category"} and column.values is None


def listed(names: list[str]) -> str:
    """Return names in words, the first dozen of them."""
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return ", ".join(names[:MANY]) + more


def _one_of(names: list[str]) -> str:
    return f"one of {listed(names)}"
