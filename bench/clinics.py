"""Small made-up tables of clinics that train together: every row has cells that are found nowhere else."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bench.made import ILLS, PLAIN, QUASI, REGIONS, ROW, SENSITIVE, Made

CLINICS = ("Dale", "Hill", "Lake", "Moor")
"""In the order of their names; the first has most rows."""

CLIENT = "clinic"

_DATES = [f"2024-0{month}-{day}" for month in (1, 2) for day in (11, 17, 23)]


def clinics(seed: int = 5, sizes: Sequence[int] = (90, 70, 60, 50), *, target: str = "label") -> Made:
    """Make a table up whose rows lie at clinics, with a class (``label``) and a number (``score``) to predict.

    Parameters
    ----------
    seed : int
    sizes : sequence of int
        Rows of each of `CLINICS`.
    target : {"label", "score"}
        The other one is not in the table.
    """
    draw = random.Random(seed)  # noqa: S311  # no secrets
    numbers = draw.sample(range(10_000), sum(sizes))
    every = [name for name, size in zip(CLINICS, sizes, strict=True) for _ in range(size)]
    rows = [_row(draw, clinic, number) for clinic, number in zip(every, numbers, strict=True)]
    draw.shuffle(rows)
    other = {"label": "score", "score": "label"}[target]
    option = {
        "name": "clinics",
        "source": {"name": "csv", "path": "table.csv"},
        "columns": {name: column for name, column in _columns().items() if name != other},
        "client": CLIENT,
        "target": target,
        "task": "classification" if target == "label" else "regression",
        "split": {"test": 0.25},
    }
    return Made(option, [{name: cell for name, cell in row.items() if name != other} for row in rows])


def with_cells(table: Made, changed: dict[str, dict[str, str]]) -> Made:
    """Return a table with other cells in all rows of some clinics.

    Parameters
    ----------
    table : Made
    changed : dict
        By clinic, what its rows are to have in which column.
    """
    return replace(table, rows=[{**row, **changed.get(row[CLIENT], {})} for row in table.rows])


def _columns() -> dict[str, dict[str, Any]]:
    return {
        "patient": {"dtype": "text", "role": "identifier"},
        ROW: {"dtype": "integer", "role": "insensitive", "min": 0, "max": 9999},
        CLIENT: {"dtype": "category", "role": "insensitive", "values": list(CLINICS)},
        "age": {**QUASI["age"], "role": "quasi_identifier"},
        "region": {**QUASI["region"], "role": "quasi_identifier"},
        "seen": {**QUASI["seen"], "role": "quasi_identifier", "min": "2023-01-01", "max": "2024-12-31"},
        "ill": {**SENSITIVE["ill"], "role": "sensitive"},
        "dose": {"dtype": "number", "role": "insensitive", "min": 0, "max": 10},
        "label": PLAIN["label"],
        "score": {"dtype": "number", "role": "insensitive", "min": 0, "max": 20},
    }


def _row(draw: random.Random, clinic: str, number: int) -> dict[str, str]:
    age, dose = draw.randrange(20, 60), draw.uniform(0.1, 9.9)
    burden = dose + age / 10
    return {
        "patient": f"Patient-{draw.randrange(10**6):06d}-{number}",
        ROW: str(number),
        CLIENT: clinic,
        "age": str(age),
        "region": draw.choice(REGIONS),
        "seen": draw.choice(_DATES),
        "ill": draw.choice(list(ILLS)),
        "dose": str(round(dose, 9)),
        "label": "yes" if burden + draw.gauss(0, 1) > 9 else "no",
        "score": str(round(min(max(burden + draw.gauss(0, 0.5), 0.1), 19.9), 9)),
    }
