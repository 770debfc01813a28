"""The closing lines of a run."""

from typing import Literal

import pytest

from runner.terminal import summary
from schemas.dataset import DatasetSchema
from schemas.tables import Metric

SCHEMA = DatasetSchema.model_validate(
    {"name": "ward", "source": None, "columns": {"age": {"dtype": "text", "role": "quasi_identifier"}}}
)


def lines(**suppressed: int) -> list[str]:
    """Return the closing lines on a table of seven rows; by side, how many of them are suppressed."""
    sides: tuple[Literal["before", "after"], ...] = ("before", "after")
    metrics = [
        Metric(stage="anonymization", metric=name, when=when, value=value)
        for when in sides
        if when in suppressed
        for name, value in (("k", 2), ("rows", 7), ("suppressed", suppressed[when]))
    ]
    return [line for line in summary(dataset=SCHEMA, rows=7, test=0, metrics=metrics) if line.startswith("suppressed")]


@pytest.mark.parametrize(
    ("suppressed", "said"),
    [
        ({"before": 0, "after": 0}, ["suppressed   0 of 7 rows"]),
        ({"before": 1, "after": 3}, ["suppressed   3 of 7 rows"]),
        ({"before": 1}, ["suppressed   1 of 7 rows"]),  # a table that was suppressed before it came here
        ({"before": 0}, []),
    ],
    ids=str,
)
def test_suppressed_rows_are_told_of_what_leaves(suppressed: dict[str, int], said: list[str]) -> None:
    assert lines(**suppressed) == said
