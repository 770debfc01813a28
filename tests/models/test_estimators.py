"""Checking estimators and their parameters: every fault, with its config path and what would be right."""

from collections.abc import Callable
from typing import Any

import pytest

from components.models import build, check
from components.models.declarations import AnySklearn, Boosting, Forest, Linear, Logistic, Task, Tree
from components.models.estimators import available, named
from schemas.dataset import DatasetSchema
from schemas.declaration import Declaration
from schemas.faults import ConfigurationError

Schemas = Callable[..., DatasetSchema]


def told(schema: DatasetSchema, estimator: str, **params: Any) -> list[str]:
    return [str(fault) for fault in check(AnySklearn(estimator=estimator, params=params), schema)]


@pytest.fixture
def ill(schema_of: Schemas) -> DatasetSchema:
    return schema_of("outcome")


@pytest.fixture
def cost(schema_of: Schemas) -> DatasetSchema:
    return schema_of("cost")


def test_the_ready_models_are_right(ill: DatasetSchema, cost: DatasetSchema) -> None:
    for params in (Tree(), Forest(), Logistic(), Boosting()):
        assert check(params, ill) == []
    for params in (Tree(), Forest(), Linear(), Boosting()):
        assert check(params, cost) == []


def test_a_ready_model_of_the_other_task_is_refused(ill: DatasetSchema, cost: DatasetSchema) -> None:
    assert list(map(str, check(Linear(), ill))) == ["model: linear is not for classification; it is for regression"]
    assert [fault.place for fault in check(Logistic(), cost)] == ["model"]


def test_an_unknown_class_gets_its_nearest(ill: DatasetSchema) -> None:
    assert told(ill, "RandomForestClasifier") == [
        "model.estimator: scikit-learn has no classifier RandomForestClasifier; did you mean RandomForestClassifier?"
    ]
    assert told(ill, "Qqqq") == ["model.estimator: scikit-learn has no classifier Qqqq"]


def test_a_transformer_is_no_model(ill: DatasetSchema) -> None:
    assert told(ill, "StandardScaler")[0].startswith("model.estimator: scikit-learn has no classifier StandardScaler")


def test_a_class_of_the_other_task_names_its_twin(ill: DatasetSchema, cost: DatasetSchema) -> None:
    assert told(ill, "SGDRegressor") == [
        "model.estimator: SGDRegressor is a regressor; the dataset's task is classification; use SGDClassifier"
    ]
    assert told(cost, "GaussianNB") == [
        "model.estimator: GaussianNB is a classifier; the dataset's task is regression; choose a regressor"
    ]


def test_all_faults_of_the_parameters_are_told_together(ill: DatasetSchema) -> None:
    assert told(ill, "DecisionTreeClassifier", max_dept=3, criterion="ginni", min_samples_leaf=0, splitter="best") == [
        "model.params.max_dept: DecisionTreeClassifier has no such parameter; did you mean max_depth?",
        "model.params.criterion: can't be 'ginni'; one of entropy, gini, log_loss",
        "model.params.min_samples_leaf: can't be 0; a whole number >= 1, or a number > 0 and < 1",
    ]


@pytest.mark.parametrize(
    ("params", "right"),
    [
        ({"C": -1}, "a number > 0"),
        ({"C": True}, "a number > 0"),
        ({"max_iter": 2.5}, "a whole number >= 0"),
        ({"max_iter": "many"}, "a whole number >= 0"),
        ({"fit_intercept": "yes"}, "true or false"),
        ({"class_weight": 3}, "a mapping, or one of balanced, or null"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_right(ill: DatasetSchema, params: dict[str, Any], right: str) -> None:
    (fault,) = check(AnySklearn(estimator="LogisticRegression", params=params), ill)
    assert fault.place == f"model.params.{next(iter(params))}"
    assert fault.allowed == right


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("LogisticRegression", {"class_weight": "balanced", "C": 1, "random_state": None}),
        ("MLPClassifier", {"hidden_layer_sizes": [5, 5], "early_stopping": True}),
        ("RandomForestClassifier", {"max_features": 0.5, "n_jobs": -1, "random_state": 7, "verbose": False}),
        ("SVC", {"gamma": "auto", "shrinking": False}),
    ],
)
def test_values_as_yaml_gives_them_are_taken(ill: DatasetSchema, name: str, params: dict[str, Any]) -> None:
    assert told(ill, name, **params) == []


def test_what_needs_another_estimator_is_refused(ill: DatasetSchema, cost: DatasetSchema) -> None:
    assert told(ill, "OneVsRestClassifier")[0].startswith("model.params.estimator: OneVsRestClassifier needs it")
    named = AnySklearn(estimator="OneVsRestClassifier", params={"estimator": "SVC"})
    assert [fault.place for fault in check(named, ill)] == ["model.params.estimator"]
    assert "wraps another estimator" in told(ill, "SelfTrainingClassifier")[0]
    assert "learns several targets at once" in told(cost, "MultiTaskLasso")[0]
    assert told(cost, "IsotonicRegression")[0].startswith("model.estimator: IsotonicRegression takes a single feature")


def test_class_weights_of_unknown_classes_are_refused(ill: DatasetSchema, schema_of: Schemas) -> None:
    assert told(ill, "SVC", class_weight={"well": 1, "sick": 2}) == [
        "model.params.class_weight: no such class: sick; one of well, ill"
    ]
    assert told(schema_of("outcome", values=None), "SVC", class_weight={"sick": 2}) == []  # learned later


def test_a_schema_without_task_or_target_is_refused(ill: DatasetSchema) -> None:
    for change in ({"task": None}, {"target": None}, {"target": "nobody"}):
        assert [fault.place for fault in check(Tree(), ill.model_copy(update=change))] == ["dataset.target"]


@pytest.mark.parametrize(
    ("target", "task", "remedy"),
    [
        ("outcome", "regression", "set dataset.task=classification"),
        ("cost", "classification", "set dataset.task=regression"),
    ],
)
def test_a_target_of_the_other_task_is_refused(schema_of: Schemas, target: str, task: str, remedy: str) -> None:
    (fault,) = check(Tree(), schema_of(target).model_copy(update={"task": task}))
    assert fault.place == "dataset.task"
    assert fault.remedy == remedy


def test_a_moment_is_no_target(schema_of: Schemas) -> None:
    schema = schema_of("outcome", dtype="date", values=None)
    assert check(Tree(), schema)[0].remedy == "choose another target"


def test_faults_stop_the_building(ill: DatasetSchema) -> None:
    with pytest.raises(ConfigurationError, match="did you mean max_depth"):
        build(AnySklearn(estimator="DecisionTreeClassifier", params={"max_dept": 3}), ill, 0)


def test_a_third_partys_declaration_is_not_looked_into(ill: DatasetSchema) -> None:
    assert check(Declaration(name="theirs"), ill) == []


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_an_estimator_is_found_by_name_exactly_where_scikit_learn_lists_it(task: Task) -> None:
    listed = available(task)
    others = available("regression" if task == "classification" else "classification")
    assert {name: named(name, task) for name in listed} == listed
    for other in ("StandardScaler", "ClassifierMixin", "BaseEstimator", "clone", "_x", *others):
        assert named(other, task) is listed.get(other), other
