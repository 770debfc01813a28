"""metrics.csv: every figure of a run, one a row."""

import csv
import io
import math
from collections.abc import Iterable

from runner import canonical
from schemas.tables import METRIC_COLUMNS, METRICS, Metric, kind_of

WHEN = ("", "before", "after")


def in_order(metrics: Iterable[Metric]) -> list[Metric]:
    """Sort figures by stage and metric (in the order of a run), then scope, column, split and when.

    Raises
    ------
    ValueError
        When two figures have the same place: one of them would be lost on a reader.
    """
    listed = list(metrics)
    placed = {_place(metric): metric for metric in listed}
    if len(placed) != len(listed):
        raise ValueError("two figures have the same stage, metric, scope, column, split and when")
    return [placed[place] for place in sorted(placed)]


def _place(metric: Metric) -> tuple[int, int, str, str, str, str, int]:
    return (
        list(METRICS).index(metric.stage),
        METRICS[metric.stage].index(kind_of(metric.metric)),
        metric.metric,
        metric.scope,
        metric.column,
        metric.split,
        WHEN.index(metric.when),
    )


def metrics_csv(metrics: Iterable[Metric]) -> bytes:
    """Return the content of metrics.csv.

    Numbers are written as in the record, in the shortest form that reads back to the same double; infinities and NaN
    as ``inf``, ``-inf`` and ``nan``, which table readers know. What is undefined or absent is an empty cell. Lines
    end in a line feed, the text is UTF-8.

    Raises
    ------
    ValueError
        See `in_order`.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(METRIC_COLUMNS)
    for metric in in_order(metrics):
        writer.writerow([_cell(getattr(metric, column)) for column in METRIC_COLUMNS])
    return text.getvalue().encode()


def _cell(value: str | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return canonical.dumps(value).decode() if math.isfinite(value) else repr(value)
