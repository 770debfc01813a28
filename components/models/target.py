"""The column a model learns: its classes in declared order, and the way to numbers and back."""

from collections.abc import Sequence
from math import sqrt
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.data.features import floats, positions_among
from components.models.declarations import Task
from schemas.base import Contract
from schemas.dataset import TEXT_LIKE, Column, DatasetSchema, DType
from schemas.faults import ConfigurationError, DataError, Fault

CLASS_LIMIT = 100
"""Most classes that the bounds of an integer column are spelled out to."""

FITTING: dict[Task, tuple[DType, ...]] = {
    "classification": ("text", "category", "ordered", "boolean", "integer"),
    "regression": ("integer", "number"),
}
"""Dtypes of the columns that each task can be about."""

Numbers = npt.NDArray[Any]


class Scale(Contract):
    """How numbers of a regression target are standardised for an engine that asks for it.

    Parameters
    ----------
    middle : float
        Becomes 0.
    deviation : float
        Becomes 1.
    learned : bool
        The two come from rows, since the schema declares no bounds.
    """

    middle: float = 0.0
    deviation: float = 1.0
    learned: bool = False

    @classmethod
    def of(cls, column: Column, numbers: Numbers) -> Self:
        """Return mean and standard deviation of values spread evenly over the declared bounds, else of `numbers`."""
        low, high = column.min, column.max
        if isinstance(low, int | float) and isinstance(high, int | float):
            return cls(middle=(low + high) / 2, deviation=(high - low) / sqrt(12) or 1.0)
        return cls(middle=float(numbers.mean()), deviation=float(numbers.std()) or 1.0, learned=True)

    def standardised(self, numbers: Numbers) -> Numbers:
        """Return what the engine learns."""
        return np.asarray((numbers - self.middle) / self.deviation)

    def restored(self, numbers: Numbers) -> Numbers:
        """Return the target's own numbers."""
        return np.asarray(numbers * self.deviation + self.middle)


class Target(Contract):
    """A target column.

    Parameters
    ----------
    column : str
        Its name.
    task : {"classification", "regression"}
    dtype : str
        Its dtype in the schema.
    classes : tuple of str, bool or int
        In declared order (booleans: false, true; integers: from the lower to the upper bound); empty for regression.
        The last of two is the positive one.
    learned : bool
        The classes come from rows, since the schema declares none.
    unit : str
        Unit of a regression target.
    """

    column: str
    task: Task
    dtype: DType
    classes: tuple[str, ...] | tuple[bool, ...] | tuple[int, ...] = ()
    learned: bool = False
    unit: str = ""

    @classmethod
    def from_schema(cls, schema: DatasetSchema, learn_from: pd.DataFrame | None = None) -> Self:
        """Return the one target of a schema; undeclared classes are taken from rows if there are any."""
        wrong = faults(schema)
        if not wrong and len(schema.targets) > 1:
            problem = f"{len(schema.targets)} targets, where one is learned"
            wrong = [
                Fault("dataset.target", problem, "one column", "take the schema of each (DatasetSchema.of_target)")
            ]
        if wrong:
            raise ConfigurationError(wrong)
        column = schema.column(schema.targets[0])
        classes = () if schema.task == "regression" else _declared(column)
        learned = schema.task == "classification" and not classes
        if learned:
            if learn_from is None:
                raise ConfigurationError(_undeclared(column))
            classes = _observed(column, learn_from)
        return cls(
            column=column.name,
            task=schema.task or "regression",
            dtype=column.dtype,
            classes=classes,
            learned=learned,
            unit=column.unit or "" if schema.task == "regression" else "",
        )

    def encode(self, frame: pd.DataFrame) -> Numbers:
        """Return the target of each row as a number.

        Returns
        -------
        numpy.ndarray, shape (rows,)
            Position among the classes (int64; -1 for a value that is none of them), or the number itself (float64).

        Raises
        ------
        DataError
            The column is absent, or cells are missing.
        """
        if self.column not in frame.columns:
            raise DataError(Fault(f"column '{self.column}'", "not in the table", "it is the target"))
        cells = frame[self.column]
        missing = int(cells.isna().sum())
        if missing:
            raise DataError(
                Fault(
                    f"column '{self.column}'",
                    f"{missing} of {len(cells)} cells are missing",
                    "a target has none",
                    "set dataset.missing.rows=drop",
                )
            )
        if self.task == "regression":
            return floats(cells)
        if self.dtype in TEXT_LIKE:
            return positions_among(cells, self.classes).astype(np.int64)  # type: ignore[arg-type]  # texts here
        return pd.Index(self.classes, dtype=np.int64).get_indexer(pd.Index(cells, dtype=np.int64)).astype(np.int64)

    def decode(self, numbers: Numbers) -> Numbers:
        """Return the values that `numbers`, as `encode` gives them, stand for."""
        if self.task == "regression":
            return np.asarray(numbers, dtype=np.float64).reshape(len(numbers))
        dtype: Any = {"boolean": np.bool_, "integer": np.int64}.get(self.dtype, object)
        values: Numbers = np.asarray(self.classes, dtype=dtype)
        return values[np.asarray(numbers, dtype=np.int64)]


def joined(outputs: Sequence[Numbers]) -> Numbers:
    """Return predictions of one target as they are, of several side by side; objects where their dtypes differ."""
    if len(outputs) == 1:
        return outputs[0]
    alike = len({output.dtype for output in outputs}) == 1
    return np.column_stack([output if alike else output.astype(object) for output in outputs])


def numbers_of(targets: Sequence[Target], predictions: Numbers) -> Numbers:
    """Return what a model predicts as `Target.encode` would; shape (rows, targets), also of a single target.

    Parameters
    ----------
    targets : sequence of Target
    predictions : numpy.ndarray, shape (rows,) or (rows, targets)
        As `joined` gives them.
    """
    outputs = [predictions] if predictions.ndim == 1 else list(predictions.T)
    named = pd.DataFrame({target.column: output for target, output in zip(targets, outputs, strict=True)})
    return np.column_stack([target.encode(named) for target in targets])


def faults(schema: DatasetSchema) -> list[Fault]:
    """Return what makes the schema's targets unfit for its task."""
    if schema.task is None or not schema.targets or not set(schema.targets) <= set(schema.names()):
        return [
            Fault(
                "dataset.target",
                "a model needs a target and a task",
                "a column of the schema; classification or regression",
                "set dataset.target and dataset.task, or model=none",
            )
        ]
    columns = [schema.column(name) for name in schema.targets]
    unfit = [column for column in columns if column.dtype not in FITTING[schema.task]]
    if len(unfit) < len(columns):
        return [_of_another_task(column, schema.task) for column in unfit]
    return [
        Fault(
            "dataset.task",
            f"{schema.task} {'on' if schema.task == 'regression' else 'of'} a {dtype} column",
            " or ".join(", ".join(FITTING[schema.task]).rsplit(", ", 1)),
            _other(schema.task) if schema.task == "regression" or dtype == "number" else "choose another target",
        )
        for dtype in dict.fromkeys(column.dtype for column in unfit)
    ]


def _of_another_task(column: Column, task: Task) -> Fault:
    return Fault(
        "dataset.target",
        f"'{column.name}' is a {column.dtype} column, and the task of all targets is {task}",
        " or ".join(", ".join(FITTING[task]).rsplit(", ", 1)),
        "learn targets of another task in a run of their own",
    )


def _other(task: Task) -> str:
    return f"set dataset.task={'classification' if task == 'regression' else 'regression'}"


def _declared(column: Column) -> tuple[Any, ...]:
    if column.dtype == "boolean":
        return (False, True)
    if column.dtype == "integer" and isinstance(column.min, int) and isinstance(column.max, int):
        return tuple(range(column.min, column.max + 1)) if column.max - column.min < CLASS_LIMIT else ()
    return tuple(column.values or ())  # a list of the schema, no frame


def _observed(column: Column, rows: pd.DataFrame) -> tuple[Any, ...]:
    found = rows[column.name].dropna().unique().tolist() if column.name in rows.columns else []
    return tuple(sorted(map(int if column.dtype == "integer" else str, found)))


def _undeclared(column: Column) -> Fault:
    key = f"dataset.columns.{column.name}."
    return Fault(
        f"column '{column.name}'",
        "the target declares no classes",
        f"integers: bounds at most {CLASS_LIMIT} apart; others: values",
        f"set {key}{'min and .max' if column.dtype == 'integer' else 'values'}, or encoder.learn=true "
        "(the model file then holds facts of rows)",
    )
