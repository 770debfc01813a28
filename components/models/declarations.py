"""Parameters of the models. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from schemas.declaration import Declaration

Task = Literal["classification", "regression"]


class ModelDeclaration(Declaration):
    """Base of the models: ``checks`` names the function (declaration, schema) -> faults that needs no data."""

    checks: ClassVar[str]
    trains: ClassVar[bool] = True
    """The model is fitted here; one that comes trained is asked as it is."""
    known_only: ClassVar[bool] = False
    """The model answers for known rows only."""


class SklearnDeclaration(ModelDeclaration):
    """Base of the scikit-learn models: which class serves which task.

    A subclass's fields other than ``name`` are parameters of the estimator, under the estimator's own names.
    """

    component: ClassVar[str] = "components.models.sklearn_engine:build"
    checks: ClassVar[str] = "components.models.estimators:check"
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
    l2_regularization: float = Field(default=0.0, ge=0)


class AnySklearn(ModelDeclaration):
    """Any scikit-learn classifier or regressor, by its class name."""

    component: ClassVar[str] = "components.models.sklearn_engine:build"
    checks: ClassVar[str] = "components.models.estimators:check"
    name: Literal["sklearn"] = "sklearn"
    estimator: str = Field(min_length=1, pattern=r"^[A-Z]\w*$", description="class name, such as KNeighborsClassifier")
    params: dict[str, Any] = Field(default={}, description="parameters of that class")


class TorchTraining(ModelDeclaration):
    """How a torch module is trained."""

    component: ClassVar[str] = "components.models.torch_engine:build"
    checks: ClassVar[str] = "components.models.torch_engine:check"
    name: str = "torch"
    epochs: int = Field(default=200, ge=1, description="most passes over the train rows")
    batch_size: int = Field(default=256, ge=1, description="most rows of one step")
    learning_rate: float = Field(default=0.003, gt=0)
    optimizer: Literal["adam", "sgd"] = "adam"
    weight_decay: float = Field(default=0.0, ge=0, description="L2 penalty on all weights")
    clip_norm: float | None = Field(default=None, gt=0, description="largest norm of a step's gradient")
    validation: float = Field(default=0.1, ge=0, lt=1, description="share of train rows held out to stop by; 0: none")
    patience: int = Field(default=10, ge=1, description="epochs that the held-out loss may fail to fall")
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="to train on; auto: cuda where it is")


class Mlp(TorchTraining):
    """A multilayer perceptron for tables."""

    name: Literal["mlp"] = "mlp"
    hidden: list[Annotated[int, Field(ge=1)]] = Field(default=[64, 32], description="widths of the hidden layers")
    activation: Literal["relu", "gelu", "silu", "tanh"] = "relu"
    dropout: float = Field(default=0.0, ge=0, lt=1, description="share of hidden units set to zero in each step")


class TorchModule(TorchTraining):
    """A torch module of the user's, by the name that it is registered under."""

    name: Literal["torch"] = "torch"
    module: str = Field(min_length=1, description="its name in the entry-point group privacy_runner.torch_module")
    params: dict[str, Any] = Field(default={}, description="what its class takes beside (inputs, outputs)")
    outputs: Literal["logits", "probabilities"] = Field(default="logits", description="what a classifier puts out")


class KerasTraining(ModelDeclaration):
    """How a Keras model is trained."""

    component: ClassVar[str] = "components.models.extras:build"
    checks: ClassVar[str] = "components.models.extras:check"
    name: str = "keras"
    epochs: int = Field(default=200, ge=1, description="most passes over the train rows")
    batch_size: int = Field(default=128, ge=1, description="rows of one step")
    learning_rate: float = Field(default=0.003, gt=0)
    optimizer: Literal["adam", "sgd"] = "adam"
    weight_decay: float | None = Field(default=None, ge=0, description="shrinking of all weights in each step")
    clip_norm: float | None = Field(default=None, gt=0, description="largest norm of a step's gradient")
    validation: float = Field(
        default=0.1, ge=0, lt=1, description="share of train rows held out to stop early; 0: none"
    )
    patience: int = Field(default=20, ge=1, description="epochs that the held-out loss may fail to fall")


class KerasNetwork(KerasTraining):
    """A multilayer perceptron for tables, of Keras layers."""

    name: Literal["keras"] = "keras"
    hidden: list[Annotated[int, Field(ge=1)]] = Field(default=[64, 32], description="widths of the hidden layers")
    activation: Literal["relu", "gelu", "silu", "tanh"] = "relu"
    dropout: float = Field(default=0.0, ge=0, lt=1, description="share of hidden units set to zero in each step")


class Xgboost(ModelDeclaration):
    """Gradient boosted trees of XGBoost, under its own names."""

    component: ClassVar[str] = "components.models.extras:build"
    checks: ClassVar[str] = "components.models.extras:check"
    name: Literal["xgboost"] = "xgboost"
    n_estimators: int = Field(default=100, ge=1, description="rounds of boosting")
    max_depth: int = Field(default=6, ge=1)
    learning_rate: float = Field(default=0.3, gt=0, le=1)
    subsample: float = Field(default=1.0, gt=0, le=1, description="share of rows that a tree is grown on")
    colsample_bytree: float = Field(default=1.0, gt=0, le=1, description="share of features that a tree is grown on")
    min_child_weight: float = Field(default=1.0, ge=0)
    reg_alpha: float = Field(default=0.0, ge=0, description="L1 penalty of leaf values")
    reg_lambda: float = Field(default=1.0, ge=0, description="L2 penalty of leaf values")
    n_jobs: int = Field(default=1, ge=1, description="threads; equal results are promised for an equal number")


LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts that are this machine: what is sent to them leaves it nowhere."""


class CallableDeclaration(ModelDeclaration):
    """A function in a Python file, or a scoring URL, that was trained elsewhere."""

    component: ClassVar[str] = "components.models.callable_model:build"
    checks: ClassVar[str] = "components.models.callable_model:check"
    trains: ClassVar[bool] = False
    name: Literal["callable"] = "callable"
    path: str | None = Field(
        default=None, min_length=1, description="Python file; relative to the folder the command is started in"
    )
    function: str = Field(default="predict", pattern=r"^[A-Za-z_]\w*$", description="function in the file at path")
    url: str | None = Field(default=None, description="scoring URL that takes MLflow's dataframe_split; path or url")
    outputs: Literal["labels", "probabilities", "logits"] = Field(
        default="labels", description="what a classifier gives; the last two in the order of the target's classes"
    )
    timeout_seconds: float = Field(default=30.0, gt=0, description="of one request")
    batch_size: int = Field(default=1000, ge=1, description="rows a request")
    retries: int = Field(default=2, ge=0, le=10, description="how often a request that may succeed later is repeated")
    token_variable: str | None = Field(
        default=None, pattern=r"^[A-Za-z_]\w*$", description="environment variable with a bearer token for the URL"
    )

    @field_validator("url")
    @classmethod
    def _scored(cls, url: str | None) -> str | None:
        if url is None:
            return url
        try:
            parts = urlsplit(url)
            valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            valid = False
        if not valid or not url.isascii() or not url.isprintable() or " " in url:
            raise PydanticCustomError("url", "no URL that begins with http:// or https:// and names a host")
        if "@" in parts.netloc:
            raise PydanticCustomError("url", "holds a user name; the server is told a token, by token_variable")
        return url

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.path is None) == (self.url is None):
            raise PydanticCustomError("callable", "either path (a Python file) or url (a scoring server)")
        parts = urlsplit(self.url or "")
        if self.token_variable is not None and (self.url is None or self._in_the_clear(parts.scheme, parts.hostname)):
            raise PydanticCustomError("callable", "a token goes to an https URL, or to this machine, alone")
        return self

    @staticmethod
    def _in_the_clear(scheme: str, host: str | None) -> bool:
        return scheme != "https" and host not in LOOPBACK


class Predictions(ModelDeclaration):
    """A table of predictions that a model made of known rows."""

    component: ClassVar[str] = "components.models.predictions_model:build"
    checks: ClassVar[str] = "components.models.predictions_model:check"
    trains: ClassVar[bool] = False
    known_only: ClassVar[bool] = True
    name: Literal["predictions"] = "predictions"
    path: str = Field(min_length=1, description="CSV or Parquet file; relative to the folder the command is started in")
    key: list[str] | None = Field(
        default=None, min_length=1, description="columns that tell rows apart, here and in the file; all features"
    )
    column: str | Annotated[list[str], Field(min_length=1)] | None = Field(
        default=None, description="column of the file with the label, or the number; of several targets a list"
    )
    columns: list[str] | None = Field(
        default=None, min_length=2, description="columns of the file with the probability of each class, in order"
    )

    @field_validator("key", mode="before")
    @classmethod
    def _several(cls, key: Any) -> Any:
        return [key] if isinstance(key, str) else key

    @model_validator(mode="after")
    def _told_once(self) -> Self:
        if (self.column is None) == (self.columns is None):
            raise PydanticCustomError("predictions", "either column (a label or number) or columns (probabilities)")
        listed = [*(self.columns or self.labels), *(self.key or ())]
        if len(set(listed)) != len(listed):
            raise PydanticCustomError("predictions", "a column is named twice among key, column and columns")
        return self

    @property
    def labels(self) -> list[str]:
        """Columns of the file with the label, or the number, of each target; empty where there are probabilities."""
        return self.column if isinstance(self.column, list) else [self.column] if self.column is not None else []
