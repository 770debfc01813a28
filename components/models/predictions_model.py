"""A table of stored predictions as a model: it answers for the rows that it knows, and for no other."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from components.data.declarations import Csv, Parquet
from components.data.files import NO_ROWS
from components.data.headers import doubled, header_faults, tidied
from components.data.reading import Reading, read
from components.data.table import Table
from components.models.callable_file import file_fault
from components.models.declarations import Predictions
from components.models.known_rows import KnownRows
from components.models.outputs import Outputs
from components.models.target import Numbers, Target
from components.models.trained_model import Answers, TrainedModel, answers_of, declared_targets, target_faults
from components.registry import load
from schemas.dataset import Column, DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.wording import shown

PARQUET = b"PAR1"


class PredictionsModel(TrainedModel):
    """Predictions that some model once made, looked up by the rows' key.

    Parameters
    ----------
    frame : pandas.DataFrame
        The rows that were predicted; holds at least the key columns.
    predictions : array-like, or list of these
        Of these rows, in their order: as a function of `CallableModel` gives them, also of several targets.
    schema : DatasetSchema
    key : sequence of str, optional
        Columns that tell rows apart; all features without it.
    outputs : {"labels", "probabilities", "logits"}, default "labels"
    target_output : int, default 0
        Which of several outputs is the schema's target, where it has one.

    Raises
    ------
    ConfigurationError
        The schema has no such key columns, or the predictions are none; told by count.
    DataError
        Rows with one key have different predictions, or key columns are absent.
    """

    framework: ClassVar[str] = "predictions"
    known_only: ClassVar[bool] = True

    def __init__(
        self,
        frame: pd.DataFrame,
        predictions: Any,
        schema: DatasetSchema,
        *,
        key: Sequence[str] | None = None,
        outputs: Outputs = "labels",
        target_output: int = 0,
    ) -> None:
        super().__init__(schema, outputs=outputs, target_output=target_output)
        if wrong := _key_faults(schema, key):
            raise ConfigurationError(wrong)
        if frame.empty:
            raise DataError(Fault("stored predictions", "0 rows", "at least one"))
        self._known = KnownRows(frame, _key(schema, key))
        found = answers_of(predictions, outputs, self.targets, rows=len(frame), target_output=target_output)
        self._stored = found.taken(_first(self._known.groups, found))

    @property
    def seen(self) -> tuple[str, ...]:
        """The key columns."""
        return tuple(column.name for column in self._known.key)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, without cell values."""
        by = ", ".join(map(shown, self.seen))
        return (f"predictions are stored ones of {self._known.count} known rows, told apart by {by}",)

    def fit(self, table: Table) -> Self:
        """Learn nothing, but refuse rows that have no stored prediction.

        Raises
        ------
        DataError
            There are such rows; told by count.
        """
        self._asked(table.frame)
        return self

    def parameters(self) -> dict[str, Any]:
        """Return the key, and what is stored."""
        return {"key": list(self.seen), "outputs": self.form, "target_output": self.target_output}

    def _answers(self, frame: pd.DataFrame) -> Answers:
        groups = self._known.find(frame)
        if unknown := int((groups < 0).sum()):
            verb = "have" if unknown > 1 else "has"
            problem = f"{unknown} of {len(frame)} rows {verb} no stored prediction"
            raise DataError(Fault("model", problem, "rows that were predicted", "store predictions of all rows"))
        return self._stored.taken(groups)


def check(params: Predictions, schema: DatasetSchema) -> list[Fault]:
    """Return all that is wrong with a declaration: target, key, number of columns, the file and its header.

    Raises
    ------
    DataError
        Nothing is wrong with it, but the file holds no rows.
    """
    wrong = target_faults(schema) or _column_faults(params, declared_targets(schema))
    wrong += _key_faults(schema, params.key)
    missing = file_fault(params.path)
    if missing:
        return [*wrong, missing]
    try:
        return [*wrong, *_header_faults(params, schema)]
    except DataError as error:
        if not wrong:
            raise
        return [*wrong, *error.faults]


def build(params: Predictions, schema: DatasetSchema, seed: int, *, learn: bool = False) -> PredictionsModel:  # noqa: ARG001  # as every model is made
    """Make the model of a declaration (see `components.models.interface.build`); its file is read.

    Raises
    ------
    ConfigurationError
        With all that `check` finds.
    DataError
        The file can't be read, or its cells are not what the schema declares; with all faults.
    """
    if wrong := check(params, schema):
        raise ConfigurationError(wrong)
    names = _answers(params)
    reading = _read(params, schema, names)
    frame = reading.table.frame
    stored: Any = [frame[name] for name in names]
    if params.columns is not None:
        stored = np.column_stack(stored)
    predictions = stored[0] if params.columns is None and len(names) == 1 else stored
    outputs: Outputs = "labels" if params.columns is None else "probabilities"
    made = PredictionsModel(frame, predictions, schema, key=params.key, outputs=outputs)
    made.inputs = reading.inputs
    return made


def _answers(params: Predictions) -> list[str]:
    """Return the columns of the file that hold predictions."""
    return params.columns or params.labels


def _key(schema: DatasetSchema, key: Sequence[str] | None) -> list[Column]:
    return [schema.column(name) for name in (schema.features if key is None else key)]


def _key_faults(schema: DatasetSchema, key: Sequence[str] | None) -> list[Fault]:
    used = {column.name for column in schema.used} - set(schema.targets)
    return [
        Fault("model.key", f"the table has no column {shown(name)} to tell rows apart by", ", ".join(sorted(used)))
        for name in key or ()
        if name not in used
    ]


def _column_faults(params: Predictions, targets: Sequence[Target]) -> list[Fault]:
    if params.columns is None:
        if len(params.labels) == len(targets):
            return []
        problem = f"names {len(params.labels)} column{'s' if len(params.labels) > 1 else ''}"
        return [Fault("model.column", problem, f"one for each of {len(targets)} targets, in their order")]
    if len(targets) > 1:
        problem = f"probabilities are those of one target, and there are {len(targets)}"
        return [Fault("model.columns", problem, "labels", "name a column for each target in model.column")]
    (target,) = targets
    if len(params.columns) == len(target.classes):
        return []
    allowed = f"one for each of {len(target.classes)} classes" if target.classes else "column, for a regression"
    return [Fault("model.columns", f"names {len(params.columns)} columns", allowed)]


def _header_faults(params: Predictions, schema: DatasetSchema) -> list[Fault]:
    """Return what the file's header lacks, or why the file has none; keys that the schema lacks are no matter here.

    ``DataError`` where there is a header alone.
    """
    features = schema.features if params.key is None else params.key
    looked_up = {name: "model.key" for name in features if name in schema.names()}
    place = "model.column" if params.columns is None else "model.columns"
    looked_up |= dict.fromkeys(_answers(params), place)
    source = _source(params)
    try:
        header = load(source.heading)(source, Path())
    except DataError as error:
        mended = [_mended(fault) for fault in error.faults]
        if any(fault.problem == NO_ROWS for fault in error.faults):
            raise DataError(mended) from None
        return mended
    names = tidied(header.names, trim=source.trim, normalize=source.normalize)
    declared = [Column(name=name, dtype="text", role="insensitive") for name in looked_up]
    wrong = header_faults(_alone(schema, declared), names, f"file '{params.path}'")
    if wrong and len(names) == 1:  # delimited otherwise, if it is a header at all
        return [_mended(fault) for fault in wrong]
    faults = doubled(names)
    for name, place in looked_up.items():
        if name not in names:
            near = next(iter(get_close_matches(name, [*names], n=1, cutoff=0.75)), None)
            remedy = "name one that it has" if near is None else f"did you mean {shown(near)}?"
            faults.append(Fault(place, f"file '{params.path}' has no column {shown(name)}", remedy=remedy))
    if header.rows == 0 and not faults:
        raise DataError(Fault(f"file '{params.path}'", "0 rows", "at least one row below the header"))
    return faults


def _first(groups: Numbers, found: Answers) -> Numbers:
    """Return the first row of each group, having made sure that all its rows have the same predictions."""
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    every = [found.joint, *(one.scores for one in found.own if one.scores is not None)]
    differs = np.logical_or.reduce([(part != part[first][group]).any(axis=1) for part in every])
    if conflicting := len(np.unique(group[differs])):
        several = conflicting > 1
        problem = f"{conflicting} row{'s' if several else ''} {'have' if several else 'has'} different predictions"
        raise DataError(Fault("stored predictions", problem, "one prediction a row", "name more columns in model.key"))
    return np.asarray(first)


def _read(params: Predictions, schema: DatasetSchema, names: Sequence[str]) -> Reading:
    """Read key columns and predictions from the file, typed as the schema's; other columns are left aside."""
    declared = [
        *(column.model_copy(update={"unique": False, "role": "insensitive"}) for column in _key(schema, params.key)),
        *(_of_prediction(name, params, schema) for name in names),
    ]
    try:
        return read(_alone(schema, declared), _source(params), Path())
    except DataError as error:
        raise DataError([_mended(fault) for fault in error.faults]) from None


def _alone(schema: DatasetSchema, declared: list[Column]) -> DatasetSchema:
    """Return a schema of some columns and nothing else, with the missing markers of the table's own."""
    alone = {"target": None, "task": None, "subject_id": None, "client": None, "undeclared": "drop"}
    split = schema.split.model_copy(update={"stratify": False})
    return schema.model_copy(update={"columns": declared, **alone, "split": split})


def _source(params: Predictions) -> Csv | Parquet:
    try:
        with Path(params.path).open("rb") as file:
            is_parquet = file.read(len(PARQUET)) == PARQUET
    except OSError:
        is_parquet = False  # what is wrong is told when it is read
    return Parquet(path=params.path) if is_parquet else Csv(path=params.path)


def _of_prediction(name: str, params: Predictions, schema: DatasetSchema) -> Column:
    """Declare a column of predictions: probabilities are numbers; a label is a value of the target."""
    if params.columns is not None:
        return Column(name=name, dtype="number", role="insensitive")
    target = schema.column(schema.targets[params.labels.index(name)])
    if schema.task == "regression":
        return Column(name=name, dtype="number", role="insensitive")  # a prediction may lie beyond the bounds
    return target.model_copy(update={"name": name, "role": "insensitive", "unique": False, "hierarchy": None})


def _mended(fault: Fault) -> Fault:
    """Name what mends this file, where a fault of a dataset's file names what mends that, and leave out its k."""
    if fault.problem == NO_ROWS:
        return replace(fault, problem="0 rows")
    if "dataset.source.path" in fault.remedy:
        return replace(fault, remedy=fault.remedy.replace("dataset.source.path", "model.path"))
    if "dataset.source" not in f"{fault.allowed} {fault.remedy}":
        return fault
    form = "key columns and predictions, delimited by commas, in UTF-8 with decimal points; or Parquet"
    return replace(fault, allowed=form, remedy="write the file so, or set model.key to columns that it holds")
