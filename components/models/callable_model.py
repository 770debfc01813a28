"""A function, or a scoring URL, as a model: it is asked about rows, and learns nothing here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit
from warnings import catch_warnings

import pandas as pd

from components.brought import Brought
from components.models.callable_file import function_fault, function_of
from components.models.callable_http import ScoringUrl, token_fault
from components.models.declarations import CallableDeclaration
from components.models.outputs import Outputs
from components.models.trained_model import Answers, TrainedModel, answers_of, target_faults
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault, RunnerError


class CallableModel(TrainedModel):
    """Any function of rows that gives labels, probabilities, logits or numbers.

    Parameters
    ----------
    function : callable
        Gets a frame of its own with the schema's feature columns, dtypes as in the table. Gives an array-like of
        shape (rows,) or (rows, classes), or a list of such arrays, one an output. Of several targets there is one
        output each, in the schema's order; labels or numbers may also come as a table of one column each.
    schema : DatasetSchema
    outputs : {"labels", "probabilities", "logits"}, default "labels"
    target_output : int, default 0
        Which of several outputs is the schema's target, where it has one.
    described : mapping of str to Any, optional
        What ``model.json`` says of the function beside its outputs, as JSON can hold it.
    notes : sequence of str, optional

    Attributes
    ----------
    queries : int
        Rows asked about so far. A batch that had to be sent again counts once.
    """

    framework: ClassVar[str] = "callable"
    known_only: ClassVar[bool] = False

    def __init__(
        self,
        function: Callable[[pd.DataFrame], Any],
        schema: DatasetSchema,
        *,
        outputs: Outputs = "labels",
        target_output: int = 0,
        described: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__(schema, outputs=outputs, target_output=target_output)
        self.function = function
        self.queries = 0
        self._described = dict(described or {})
        self._notes = tuple(notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, without cell values."""
        return self._notes

    @property
    def seen(self) -> tuple[str, ...]:
        """The schema's features."""
        return tuple(self.schema.features)

    def parameters(self) -> dict[str, Any]:
        """Return what the function is, and what it gives."""
        return {**self._described, "outputs": self.form, "target_output": self.target_output}

    def _answers(self, frame: pd.DataFrame) -> Answers:
        self.queries += len(frame)
        asked = frame[list(self.seen)].copy()
        try:
            with catch_warnings(action="ignore"):  # their words can hold cell values
                raw = self.function(asked)
        except RunnerError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever a function of the user's may raise
            raise ConfigurationError(
                Fault("model", f"the function fails on these rows ({type(error).__name__})", values=str(error))
            ) from None
        return answers_of(raw, self.form, self.targets, rows=len(frame), target_output=self.target_output)


def check(params: CallableDeclaration, schema: DatasetSchema) -> list[Fault]:
    """Return all that is wrong with a declaration: target, file and function, token; nothing is run or asked."""
    own = None if params.path is None else function_fault(params.path, params.function)
    found = [own, token_fault(params.token_variable)]
    return [*target_faults(schema), *(fault for fault in found if fault is not None)]


def build(params: CallableDeclaration, schema: DatasetSchema, seed: int, *, learn: bool = False) -> CallableModel:  # noqa: ARG001  # as every model is made
    """Make the model of a declaration (see `components.models.interface.build`); a file is run, a URL not yet asked."""
    if wrong := check(params, schema):
        raise ConfigurationError(wrong)
    if params.url is None:
        function, fact = function_of(params.path or "", params.function)
        described = {"path": params.path, "function": params.function}
        made = CallableModel(function, schema, outputs=params.outputs, described=described)
        made.inputs = (fact,)
        made.code = (Brought("callable", params.function, fact.uri, fact.sha256),)
        return made
    scorer = ScoringUrl(params.url, params.timeout_seconds, params.batch_size, params.retries, params.token_variable)
    parts = urlsplit(params.url)
    place = f"{parts.scheme}://{parts.netloc}"
    notes = [f"the features of every row asked about are sent to {place}"]
    return CallableModel(
        scorer,
        schema,
        outputs=params.outputs,
        described={"url": f"{place}{parts.path}", "token_variable": params.token_variable},
        notes=notes,
    )
