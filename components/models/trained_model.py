"""Models that come trained: somebody else's answers about rows, taken as they are."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.brought import Brought
from components.data.extract import InputFact
from components.data.table import Table
from components.models.outputs import Answer, Outputs, answer, label_positions, plain, separate
from components.models.saved import DESCRIPTION, Description
from components.models.target import Numbers, Scale, Target, faults, joined
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.wording import shown


@dataclass(frozen=True, slots=True)
class Answers:
    """What a model says of rows, all its outputs together.

    Parameters
    ----------
    own : tuple of Answer
        Of each of the schema's targets.
    joint : numpy.ndarray, shape (rows, outputs)
        Every output: labels as given (object), the likeliest classes' positions (int64), or numbers (float64).
    """

    own: tuple[Answer, ...]
    joint: Numbers

    def taken(self, rows: Numbers) -> "Answers":
        """Return the answers of some rows, by their places."""
        own = (Answer(one.numbers[rows], None if one.scores is None else one.scores[rows]) for one in self.own)
        return Answers(tuple(own), self.joint[rows])


class TrainedModel(ABC):
    """A model whose answers come from elsewhere; nothing is learned here.

    A subclass answers for the rows of a frame. Classes must be declared: who answers can't learn them from rows.

    Parameters
    ----------
    schema : DatasetSchema
        Says what features and target are.
    outputs : {"labels", "probabilities", "logits"}
        What a classifier gives; means nothing in regression. Labels are values of the target (numbers, where these
        are texts, are positions among the classes), and probabilities and logits stand in the order of the classes.
    target_output : int, default 0
        Which of several outputs is the schema's target. Where the schema has several, the outputs are its targets.

    Attributes
    ----------
    inputs : tuple of InputFact
        Files that the answers come from, told by whoever read them; they are inputs of the run.
    code : tuple of Brought
        The code that answers, where it is the user's.

    Raises
    ------
    ConfigurationError
        The schema has no target for its task, or the target declares no classes.
    """

    trains: ClassVar[bool] = False
    known_only: ClassVar[bool]
    framework: ClassVar[str]
    learned: ClassVar[tuple[str, ...]] = ()
    inputs: tuple[InputFact, ...]
    code: tuple[Brought, ...]

    def __init__(self, schema: DatasetSchema, *, outputs: Outputs, target_output: int = 0) -> None:
        self.schema = schema
        self.form: Outputs = outputs
        self.target_output = target_output
        self.inputs = ()
        self.code = ()
        self.targets = declared_targets(schema)

    @property
    def target(self) -> Target:
        """The target; of several the first."""
        return self.targets[0]

    @property
    def classes(self) -> tuple[Any, ...]:
        """Classes in declared order; empty for regression."""
        return self.target.classes

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, without cell values."""
        return ()

    def fit(self, table: Table) -> Self:
        """Learn nothing, but refuse rows that the model couldn't answer for.

        Raises
        ------
        DataError
            The table lacks columns.
        """
        self._require(table.frame)
        return self

    def predict(self, frame: pd.DataFrame) -> Numbers:
        """Return one value of the target's domain per row.

        Parameters
        ----------
        frame : pandas.DataFrame
            Holds at least the columns that the model sees.

        Returns
        -------
        numpy.ndarray, shape (rows,), of several targets (rows, targets)
            float64 for regression; else bool, int64 or texts (object).

        Raises
        ------
        DataError
            The table lacks columns, or holds rows that the model can't answer for.
        ConfigurationError
            The model fails, or its answers are none; told by count.
        """
        own = self._asked(frame).own
        return joined([target.decode(one.numbers) for target, one in zip(self.targets, own, strict=True)])

    def scores(self, frame: pd.DataFrame) -> Numbers | list[Numbers | None] | None:
        """Return (rows, classes) probabilities, of several targets a list of these; None for labels and for regression.

        Raises as `predict` does.
        """
        if not self.classes or self.form == "labels":
            return None
        found = [one.scores for one in self._asked(frame).own]
        return found[0] if len(found) == 1 else found

    def outputs(self, frame: pd.DataFrame) -> Numbers:
        """Return all outputs, of shape (rows, outputs) as in `Answers`. Raises as `predict` does."""
        return self._asked(frame).joint

    def save(self, folder: Path) -> list[Path]:
        """Write ``model.json``, which says what the model is; neither code nor answers are kept, so it loads nowhere.

        Returns
        -------
        list of pathlib.Path
        """
        description = Description(
            framework=self.framework,
            name=self.framework,
            seed=0,
            parameters=self.parameters(),
            target=self.target if len(self.targets) == 1 else self.targets,
            scale=Scale(),
            features=len(self.schema.features),
            learned=self.learned,
            holds_rows=False,
            notes=self.notes,
            versions={"numpy": np.__version__},
            facts={"inputs": [{"path": each.uri, "bytes": each.bytes, "sha256": each.sha256} for each in self.inputs]},
            sha256={},
        )
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / DESCRIPTION
        path.write_text(f"{description.model_dump_json(indent=2)}\n", encoding="utf-8")
        return [path]

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return what ``model.json`` says of the model, without secrets."""

    @property
    @abstractmethod
    def seen(self) -> tuple[str, ...]:
        """Columns that the model is asked with."""

    @abstractmethod
    def _answers(self, frame: pd.DataFrame) -> Answers:
        """Answer for rows, at least one, that hold the columns `seen`."""

    def _asked(self, frame: pd.DataFrame) -> Answers:
        self._require(frame)
        if frame.empty:
            nothing = (Answer(np.zeros(0), np.zeros((0, len(target.classes)))) for target in self.targets)
            return Answers(tuple(nothing), np.zeros((0, len(self.targets))))
        return self._answers(frame)

    def _require(self, frame: pd.DataFrame) -> None:
        absent = [name for name in self.seen if name not in frame.columns]
        if absent:
            raise DataError(
                [Fault(f"column {shown(name)}", "not in the table", "the model needs it") for name in absent]
            )


def declared_targets(schema: DatasetSchema) -> tuple[Target, ...]:
    """Return the targets of a schema that declares their classes; ``ConfigurationError`` where it doesn't."""
    if wrong := faults(schema):
        raise ConfigurationError(wrong)
    found = tuple(Target.from_schema(schema.of_target(name), pd.DataFrame()) for name in schema.targets)
    if wrong := [_undeclared(target) for target in found if target.learned]:
        raise ConfigurationError(wrong)
    return found


def _undeclared(target: Target) -> Fault:
    keys = "min and .max" if target.dtype == "integer" else "values"
    return Fault(
        f"column {shown(target.column)}",
        "the target declares no classes",
        "a model that comes trained can't learn them from rows",
        f"set dataset.columns.{target.column}.{keys}",
    )


def target_faults(schema: DatasetSchema) -> list[Fault]:
    """Return what makes a schema's targets unfit for a model that comes trained: no task, or no declared classes."""
    if wrong := faults(schema):
        return wrong
    try:
        declared_targets(schema)
    except ConfigurationError as error:
        return list(error.faults)
    return []


def answers_of(raw: Any, form: Outputs, targets: Sequence[Target], *, rows: int, target_output: int = 0) -> Answers:
    """Read whatever a model gave for some rows.

    Parameters
    ----------
    raw : array-like, torch.Tensor, or list of these
        One output, as `components.models.outputs` has it; or several: a list of arrays, or for labels and in
        regression one column each.
    form : {"labels", "probabilities", "logits"}
    targets : sequence of Target
        Of several, each output is one, in their order.
    rows : int
        How many were asked about.
    target_output : int, default 0
        Which output is the target's, where there is one target.

    Raises
    ------
    ConfigurationError
        There is no such output, or it is no answer; told by count.
    """
    if len(targets) > 1:
        every = list(zip(separate(raw, len(targets), rows), targets, strict=True))
        own = tuple(_own(part, form, target, rows) for part, target in every)
        return Answers(own, np.column_stack([_shown(one, form, each) for one, each in zip(own, targets, strict=True)]))
    (target,) = targets
    single_columns = not target.classes or form == "labels"
    parts = _parts(raw, single_columns=single_columns)
    if target_output >= len(parts):
        problem = f"gives {len(parts)} output{'s' if len(parts) > 1 else ''}"
        raise ConfigurationError(Fault("model", problem, f"at least {target_output + 1}"))
    if wrong := [part.shape for part in parts if part.shape[:1] != (rows,)]:
        raise ConfigurationError(Fault("model", f"gives an output of shape {wrong[0]}", f"{rows} rows"))
    mine = _own(parts[target_output], form, target, rows)
    columns = [
        _column(part, form, target, rows) if at != target_output else _shown(mine, form, target)
        for at, part in enumerate(parts)
    ]
    return Answers((mine,), np.column_stack(columns))


def _own(part: Any, form: Outputs, target: Target, rows: int) -> Answer:
    if target.classes and form == "labels":
        return Answer(label_positions(part, target, rows))
    return answer(part, form, classes=len(target.classes), rows=rows)


def _shown(own: Answer, form: Outputs, target: Target) -> Numbers:
    """Return the target's own output as it stands among the others."""
    return target.decode(own.numbers).astype(object) if target.classes and form == "labels" else own.numbers


def _column(part: Numbers, form: Outputs, target: Target, rows: int) -> Numbers:
    """Read an output that the schema knows nothing of: only whether it stays the same matters."""
    if not target.classes:
        return answer(part, form, classes=0, rows=rows).numbers
    if form != "labels":
        width = part.shape[1] if part.ndim == 2 and part.shape[1] > 1 else 2
        return answer(part, form, classes=width, rows=rows).numbers
    if part.shape not in {(rows,), (rows, 1)}:
        raise ConfigurationError(Fault("model", f"gives labels of shape {part.shape}", f"({rows},) or ({rows}, 1)"))
    labels: npt.NDArray[Any] = part.reshape(rows).astype(object)
    if missing := int(pd.isna(labels).sum()):
        raise ConfigurationError(Fault("model", f"{missing} of {rows} rows have no label in one of its outputs"))
    return labels


def _parts(raw: Any, *, single_columns: bool) -> list[Numbers]:
    """Take several outputs apart: a list of arrays; or a table of columns, where each output has a single one."""
    if isinstance(raw, list | tuple) and raw and all(np.ndim(plain(part)) and hasattr(part, "shape") for part in raw):
        return [np.asarray(plain(part)) for part in raw]
    try:
        table = np.asarray(plain(raw))
    except ValueError:
        raise ConfigurationError(Fault("model", "gives rows of unequal length")) from None
    if table.ndim == 2 and table.shape[1] > 1 and single_columns:
        return list(table.T)
    return [table]
