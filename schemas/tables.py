"""The tables that a run writes: their columns, and the names that may stand in them."""

import re
from difflib import get_close_matches
from typing import Annotated, Literal, Self

from pydantic import AllowInfNan, BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from schemas.base import Contract

NON_FINITE: dict[str, float] = {"infinite": float("inf"), "-infinite": float("-inf"), "nan": float("nan")}
"""JSON knows neither infinities nor NaN: these words stand for them in a record."""


def _finite_or_named(value: object) -> object:
    return NON_FINITE.get(value, value) if isinstance(value, str) else value


Real = Annotated[
    float,
    AllowInfNan(allow_inf_nan=True),
    BeforeValidator(_finite_or_named),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "enum": list(NON_FINITE)}]}),
]
"""A real number; in JSON the words of `NON_FINITE` stand for what JSON can't say."""

METRIC_COLUMNS: tuple[str, ...] = (
    "stage",
    "metric",
    "scope",
    "column",
    "split",
    "when",
    "value",
    "low",
    "high",
    "unit",
)
"""The columns of metrics.csv, in order."""

METRICS: dict[str, tuple[str, ...]] = {
    "anonymization": (
        "k",
        "k_rows",
        "k_persons",
        "k_wildcard",
        "k_linked",
        "linked_alone",
        "classes",
        "l_distinct",
        "l_known",
        "l_entropy",
        "l_recursive",
        "alpha",
        "alpha_persons",
        "t",
        "t_released",
        "beta",
        "beta_enhanced",
        "delta_disclosure",
        "k_map",
        "rows",
        "suppressed",
        "suppressed_share",
        "loss",
        "ncp",
        "risk_prosecutor_max",
        "risk_prosecutor_mean",
        "risk_marketer",
        "risk_above_<threshold>",
        "arirec",
        "sample_uniques",
        "risk_journalist_max",
        "risk_journalist_mean",
        "risk_marketer_population",
        "population_uniques_pitman",
        "population_uniques_zayatz",
    ),
    "model": ("accuracy", "balanced_accuracy", "auc", "f1", "mae", "mre", "rmse", "r2"),
    "minimization": (
        "relative_accuracy",
        "ncp",
        "features_untouched",
        "features_suppressed",
        "features_asked_mean",
        "features_asked_p90",
        "asked_everything",
    ),
    "federation": ("rounds", "clients", "excluded_clients"),
    "dp": ("epsilon", "delta", "noise_multiplier"),
}
"""The metrics of each stage, stages in the order of a run. A new metric is added here first.

``<threshold>`` is a risk that the dataset names, as it is written: ``risk_above_0.2``.
"""

_THRESHOLD = re.compile(r"risk_above_\d+(\.\d+)?(e-\d+)?")


def kind_of(metric: str) -> str:
    """Return the name under which `METRICS` lists a metric."""
    return "risk_above_<threshold>" if _THRESHOLD.fullmatch(metric) else metric


_RECORDS = frozenset(
    {
        "k",
        "k_wildcard",
        "risk_prosecutor_max",
        "risk_prosecutor_mean",
        "risk_marketer",
        "risk_above_<threshold>",
        "arirec",
        "sample_uniques",
        "risk_journalist_max",
        "risk_journalist_mean",
        "risk_marketer_population",
    }
)
_ROWS = frozenset({"k_rows", "rows", "suppressed", "suppressed_share", "alpha"})
_PERSONS = frozenset(
    {
        "k_persons",
        "k_linked",
        "linked_alone",
        "alpha_persons",
        "k_map",
        "population_uniques_pitman",
        "population_uniques_zayatz",
    }
)


def counted(metric: str, *, persons: bool) -> str:
    """Return what a privacy figure counts, is a share of, or is the risk of: its ``unit`` in metrics.csv.

    Parameters
    ----------
    metric : str
    persons : bool
        Whether the records in classes are persons, whom a subject id tells, and not rows.

    Returns
    -------
    str
        ``rows`` or ``persons``; empty where it is neither.
    """
    kind = kind_of(metric)
    if kind in _RECORDS:
        return "persons" if persons else "rows"
    if kind in _ROWS:
        return "rows"
    return "persons" if kind in _PERSONS else ""


SCOPES: tuple[str, ...] = ("", "constant", "linear", "original", "anonymized", "minimized", "federated", "worst")
"""What a figure is about; beside these ``federated:<scenario>``, ``client:<name>`` and ``use:<name>``."""


class Metric(Contract):
    """One figure: a row of metrics.csv."""

    stage: str = Field(description="stage of the run that the figure is about")
    metric: str = Field(description="what was measured")
    scope: str = Field(
        default="",
        pattern=rf"^({'|'.join(SCOPES)}|federated:.+|client:.+|use:.+)$",
        description="model, reference line, client or way of use that the figure is about",
    )
    column: str = Field(default="", description="the sensitive, minimised or, of several, target column that is meant")
    split: Literal["", "train", "test"] = Field(default="", description="rows that it was measured on")
    when: Literal["", "before", "after"] = Field(default="", description="before or after the stage")
    value: Real | None = Field(description="the figure as measured; null where it is undefined")
    low: Real | None = Field(default=None, description="lower end of its interval")
    high: Real | None = Field(default=None, description="upper end of its interval")
    unit: str = Field(
        default="",
        description="unit; for privacy figures rows or persons, whichever are counted, or it is a share of; "
        "empty for scores and bare numbers",
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.stage not in METRICS:
            raise _unknown("stage", self.stage, tuple(METRICS))
        if kind_of(self.metric) not in METRICS[self.stage]:
            raise _unknown(f"metric of stage {self.stage}", self.metric, METRICS[self.stage])
        return self


def _unknown(what: str, name: str, allowed: tuple[str, ...]) -> PydanticCustomError:
    nearest = get_close_matches(name, allowed, n=1)
    hint = f"; did you mean {nearest[0]}?" if nearest else f"; one of {', '.join(allowed)}"
    return PydanticCustomError(
        "vocabulary", "{name} is no {what} that is known{hint}", {"name": name, "what": what, "hint": hint}
    )
