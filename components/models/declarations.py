"""Parameters of the models. Light on purpose: nothing but pydantic is imported."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from schemas.declaration import Declaration

Task = Literal["classification", "regression"]


class SklearnDeclaration(Declaration):
    """Base of the scikit-learn models: which class serves which task.

    A subclass's fields other than ``name`` are parameters of the estimator, under the estimator's own names.
    """

    component: ClassVar[str] = "components.models.sklearn_model:build"
    estimators: ClassVar[dict[Task, str]]


class Tree(SklearnDeclaration):
    """A decision tree (CART)."""

    estimators: ClassVar[dict[Task, str]] = {
        "classification": "DecisionTreeClassifier",
        "regression": "DecisionTreeRegressor",
    }
    name: Literal["tree"] = "tree"
    max_depth: int | None = Field(default=None, ge=1)
    min_samples_leaf: int = Field(default=10, ge=1)


class Forest(SklearnDeclaration):
    """A random forest."""

    estimators: ClassVar[dict[Task, str]] = {
        "classification": "RandomForestClassifier",
        "regression": "RandomForestRegressor",
    }
    name: Literal["forest"] = "forest"
    n_estimators: int = Field(default=100, ge=1)
    max_depth: int | None = Field(default=None, ge=1)
    min_samples_leaf: int = Field(default=5, ge=1)


class Logistic(SklearnDeclaration):
    """Logistic regression."""

    estimators: ClassVar[dict[Task, str]] = {"classification": "LogisticRegression"}
    name: Literal["logistic"] = "logistic"
    C: float = Field(default=1.0, gt=0)
    max_iter: int = Field(default=1000, ge=1)


class Linear(SklearnDeclaration):
    """Linear least squares with an L2 penalty."""

    estimators: ClassVar[dict[Task, str]] = {"regression": "Ridge"}
    name: Literal["linear"] = "linear"
    alpha: float = Field(default=1.0, ge=0)


class Boosting(SklearnDeclaration):
    """Histogram gradient boosting."""

    estimators: ClassVar[dict[Task, str]] = {
        "classification": "HistGradientBoostingClassifier",
        "regression": "HistGradientBoostingRegressor",
    }
    name: Literal["boosting"] = "boosting"
    learning_rate: float = Field(default=0.1, gt=0)
    max_iter: int = Field(default=100, ge=1)
    max_leaf_nodes: int | None = Field(default=31, ge=2)
    min_samples_leaf: int = Field(default=20, ge=1)


class AnySklearn(Declaration):
    """Any scikit-learn classifier or regressor, by its class name."""

    component: ClassVar[str] = "components.models.sklearn_model:build"
    name: Literal["sklearn"] = "sklearn"
    estimator: str = Field(min_length=1, pattern=r"^[A-Z]\w*$", description="class name, such as KNeighborsClassifier")
    params: dict[str, Any] = Field(default={}, description="parameters of that class")
