"""A model outside a run, as minimisation asks it: any estimator or function, or a tree in place of predictions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import is_classifier, is_regressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.multiclass import type_of_target

from components.minimization.attributes import Attribute, encoded
from components.minimization.problem import Answers
from schemas.faults import ConfigurationError, Fault
from schemas.generalizations import Output

Predict = Callable[[Any], Any]

LARGEST = 1e150
"""Numbers beyond this have squares that no float holds, and so no R2."""


@dataclass(frozen=True, slots=True)
class Predicting:
    """What gives answers to frames.

    Parameters
    ----------
    predict : callable
        Gives one prediction, or one per output, for each row.
    classes : tuple of ndarray, or None
        Per output, what was predicted of the rows that it was made with; None for a regression. A class met later
        only is none of them, and agrees with nothing.
    dtype : numpy.dtype or None
        Of the arrays that `predict` takes; None: it takes frames.
    """

    predict: Predict
    classes: tuple[npt.NDArray[Any], ...] | None
    dtype: "np.dtype[Any] | None" = None

    @classmethod
    def of(cls, predict: Predict, predictions: Any, *, regression: bool, dtype: "np.dtype[Any] | None" = None) -> Self:
        """Return what gives answers that are told apart as `predictions` are, shape (rows,) or (rows, outputs)."""
        table = as_table(predictions)
        return cls(predict, None if regression else tuple(_classes(output) for output in table.T), dtype)

    def __call__(self, frame: pd.DataFrame) -> Answers:
        """Return the answers to rows, shape (rows, outputs): int64 positions among `classes`, or float64."""
        given = self.predict(frame if self.dtype is None else frame.to_numpy(dtype=self.dtype))
        return self.answers(given, len(frame))

    def answers(self, predictions: Any, rows: int | None = None) -> Answers:
        """Return predictions, those of `rows` where that is known, as answers; `ConfigurationError` as `as_table`."""
        table = as_table(predictions, rows)
        if self.classes is None:
            return _numbers(table)
        if table.shape[1] != len(self.classes):
            raise _misshapen(table, f"{len(self.classes)} outputs, as before")
        pairs = zip(self.classes, table.T, strict=True)
        return np.column_stack([pd.Index(known).get_indexer(pd.Index(output)) for known, output in pairs])

    def outputs(self) -> list[Output]:
        """Return what is predicted, as the contract says it; classes that JSON can't hold by their text."""
        if self.classes is None:
            return []
        plain = [[_plain(value) for value in known.tolist()] for known in self.classes]
        return [Output(name=f"output {number}", classes=each) for number, each in enumerate(plain, start=1)]


def is_regression(estimator: Any, predictions: Any) -> bool:
    """Say whether predictions are numbers to come close to: by what the estimator is, else by what they are."""
    told = hasattr(estimator, "__sklearn_tags__")
    if told and (is_classifier(estimator) or is_regressor(estimator)):
        return bool(is_regressor(estimator))
    return str(type_of_target(as_table(predictions))).startswith("continuous")


def as_table(predictions: Any, rows: int | None = None) -> npt.NDArray[Any]:
    """Return predictions with one column per output.

    Parameters
    ----------
    predictions : array_like, shape (rows,) or (rows, outputs)
    rows : int, optional
        How many were asked about.

    Raises
    ------
    ConfigurationError
        They are of another shape, or some are missing or infinite; told by count.
    """
    try:
        array = np.asarray(predictions)
    except ValueError:  # lists of several lengths
        raise ConfigurationError(Fault("model", "gives rows of several lengths", "one answer per output")) from None
    count = "rows" if rows is None else f"{rows}"
    if array.ndim not in {1, 2} or (rows is not None and len(array) != rows) or 0 in array.shape[1:]:
        raise _misshapen(array, f"{count} rows: ({count},) or ({count}, outputs)")
    table = array.reshape(len(array), -1)
    lacking = pd.isna(table) if table.dtype.kind != "f" else ~np.isfinite(table)
    if lost := int(lacking.any(axis=1).sum()):
        raise ConfigurationError(
            Fault(
                "model", f"gives {lost} of {len(table)} rows an answer that is missing or infinite", "one for each row"
            )
        )
    return table


@dataclass(frozen=True, slots=True)
class StandIn:
    """A decision tree that learned a model's predictions, to be asked about rows that there are none of.

    Parameters
    ----------
    attributes : tuple of Attribute
        Of all columns.
    tree : DecisionTreeClassifier or DecisionTreeRegressor
    """

    attributes: tuple[Attribute, ...]
    tree: DecisionTreeClassifier | DecisionTreeRegressor

    @classmethod
    def of(
        cls, attributes: Sequence[Attribute], frame: pd.DataFrame, predictions: Any, seed: int, *, regression: bool
    ) -> Self:
        """Learn predictions, shape (rows,) or (rows, outputs), of rows."""
        made = cls(
            tuple(attributes), (DecisionTreeRegressor if regression else DecisionTreeClassifier)(random_state=seed)
        )
        made.tree.fit(made._features(frame), as_table(predictions))
        return made

    def __call__(self, frame: pd.DataFrame) -> Any:
        """Return what is predicted of rows, shape (rows,) or (rows, outputs)."""
        return self.tree.predict(self._features(frame))

    def _features(self, frame: pd.DataFrame) -> npt.NDArray[np.float64]:
        codes = encoded(self.attributes, frame)
        return np.column_stack([_scaled(each, codes[each.name]) for each in self.attributes])


def standing_in(
    attributes: Sequence[Attribute],
    frame: pd.DataFrame,
    told: Any,
    predictions: Any,
    regression: bool | None,  # noqa: FBT001  # as the transformer's parameter
    seed: int,
) -> Predicting:
    """Return what asks a tree in place of a model of which there are predictions only.

    Parameters
    ----------
    attributes : sequence of Attribute
        Of all columns.
    frame : pandas.DataFrame, shape (rows, columns)
    told : array_like
        What the model predicts of these rows.
    predictions : array_like
        All that is known to be predicted; it tells the classes.
    regression : bool or None
        None: as predictions look.
    seed : int
    """
    numbers = is_regression(None, predictions) if regression is None else regression
    return Predicting.of(StandIn.of(attributes, frame, told, seed, regression=numbers), predictions, regression=numbers)


def _misshapen(array: npt.NDArray[Any], wanted: str) -> ConfigurationError:
    return ConfigurationError(Fault("model", f"gives an output of shape {array.shape}", wanted))


def _classes(output: npt.NDArray[Any]) -> npt.NDArray[Any]:
    try:
        return np.unique(output)
    except TypeError:  # they can't be ordered
        raise ConfigurationError(
            Fault("model", "gives labels of several kinds", "texts alone, or numbers alone")
        ) from None


def _numbers(table: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    try:
        numbers = table.astype(np.float64)
    except (TypeError, ValueError):  # its message holds a value
        raise ConfigurationError(Fault("model", "gives no numbers", "those of a regression")) from None
    if lost := int((~(np.abs(numbers) <= LARGEST)).any(axis=1).sum()):
        problem = f"gives {lost} of {len(numbers)} rows a number that is infinite, or too large to be squared"
        raise ConfigurationError(Fault("model", problem))
    return numbers


def _scaled(attribute: Attribute, codes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return codes by the width of the domain, missing cells below it: a tree's 32 bits hold no dates."""
    if attribute.kind != "number":
        return np.where(codes == attribute.missing, -1, codes).astype(np.float64)
    scaled = (codes - attribute.low) / ((attribute.high - attribute.low) or 1.0)
    return np.where(codes == attribute.missing, -1.0, scaled)


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)
