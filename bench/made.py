"""Small made-up tables with a column of every kind, and methods and criteria to try on them, drawn at random."""

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.anonymization.declarations import Guided, Lattice, Method, Mondrian, Pipeline
from components.data import Table, read
from components.data.declarations import Csv
from schemas.dataset import DatasetSchema

ROW = "row"
"""The column that tells which row of the table a released one was."""

MARKER = "NA"
"""How a missing cell is written."""

REGIONS, STAGES = ["north", "south", "west", "east"], ["I", "II", "III", "IV"]
ILLS = {"flu": "airways", "asthma": "airways", "angina": "heart", "stroke": "heart"}
TREE = {ill: (ill, organ, "*") for ill, organ in ILLS.items()}
"""What each value of the sensitive column ``ill`` becomes on every level of its hierarchy."""

GROUPS = {"NS": REGIONS[:2], "WE": REGIONS[2:], "II to IV": STAGES[1:]}
"""What the labels of hierarchies stand for."""

QUASI: dict[str, dict[str, Any]] = {
    "age": {"dtype": "integer", "min": 0, "max": 99, "hierarchy": {"name": "intervals", "widths": [5, 20]}},
    "height": {"dtype": "number", "hierarchy": {"name": "intervals", "widths": [0.5, 2]}},
    "region": {
        "dtype": "category",
        "values": REGIONS,
        "hierarchy": {"name": "tree", "groups": {"NS": GROUPS["NS"], "WE": GROUPS["WE"]}},
    },
    "stage": {"dtype": "ordered", "values": STAGES, "hierarchy": {"name": "order", "levels": [[["I"], STAGES[1:]]]}},
    "zip": {"dtype": "text", "hierarchy": {"name": "mask", "keep": [3, 1]}},
    "smoker": {"dtype": "boolean", "hierarchy": "*"},
    "seen": {"dtype": "date", "hierarchy": {"name": "date", "levels": ["month", "year"]}},
}
SENSITIVE: dict[str, dict[str, Any]] = {
    "ill": {"dtype": "category", "values": list(ILLS), "nullable": True},
    "grade": {"dtype": "ordered", "values": STAGES},
    "cost": {"dtype": "number", "nullable": True, "min": 0, "max": 1000},
}
SENSITIVE["ill"]["hierarchy"] = {
    "name": "tree",
    "groups": {organ: [ill for ill in ILLS if ILLS[ill] == organ] for organ in ("airways", "heart")},
}
CELLS: dict[str, list[str]] = {
    "age": [MARKER, "20", "21", "22", "45", "60", "61"],
    "height": [MARKER, "-0.0", "0.0", "1.5", "1.75", "1.8"],
    "region": [MARKER, *REGIONS],
    "stage": [MARKER, *STAGES],
    "zip": [MARKER, "01001", "01002", "02116", "99999", "9", "*", "{9, *}"],
    "smoker": [MARKER, "true", "false"],
    "seen": [MARKER, "2024-01-01", "2024-01-31", "2024-02-29", "2023-12-31"],
    "visits": [MARKER, "0", "1", "2"],
    "note": [MARKER, "a, b", 'say "c"', "*"],
    "ill": [MARKER, *ILLS],
    "grade": STAGES,
    "cost": [MARKER, "1.0", "2.0", "5.0", "999.5"],
    "label": ["no", "yes"],
}
PLAIN: dict[str, dict[str, Any]] = {
    "visits": {"dtype": "integer", "role": "insensitive", "nullable": True, "min": 0, "max": 9},
    "note": {"dtype": "text", "role": "insensitive", "nullable": True},
    "label": {"dtype": "category", "role": "insensitive", "values": ["no", "yes"]},
}


@dataclass(frozen=True)
class Made:
    """A made-up table: its schema as a dataset option writes it, and its cells as text."""

    option: dict[str, Any]
    rows: list[dict[str, str]]

    @property
    def schema(self) -> DatasetSchema:
        """The schema."""
        return DatasetSchema.model_validate(self.option)

    def write(self, path: Path, order: Sequence[int] | None = None) -> None:
        """Write the table as a CSV file, its rows in another order where one is given."""
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(self.rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows([self.rows[place] for place in order] if order is not None else self.rows)

    def table(self, folder: Path, order: Sequence[int] | None = None) -> Table:
        """Write the table, and read it as a run does."""
        self.write(folder / "table.csv", order)
        return read(self.schema, Csv(path="table.csv"), folder).table


def made(draw: random.Random, rows: int, quasi: Sequence[str], sensitive: Sequence[str], *, persons: bool) -> Made:
    """Make a table up.

    Parameters
    ----------
    draw : random.Random
    rows : int
        At least 1.
    quasi, sensitive : sequence of str
        Columns of `QUASI` and `SENSITIVE` to have.
    persons : bool
        Whether rows share persons, whom k then counts.
    """
    columns: dict[str, dict[str, Any]] = {
        "patient": {"dtype": "text", "role": "identifier"},
        ROW: {"dtype": "integer", "role": "insensitive", "min": 0, "max": 9999},
    }
    if persons:
        columns["person"] = {"dtype": "integer", "role": "identifier"}
    columns |= {name: {**QUASI[name], "role": "quasi_identifier", "nullable": True} for name in quasi}
    columns |= {name: {**SENSITIVE[name], "role": "sensitive"} for name in sensitive} | PLAIN
    cells = {name: _column(draw, name, rows) for name in columns if name in CELLS}
    cells["patient"] = [f"Patient-{draw.randrange(10**6):06d}-{row}" for row in range(rows)]
    cells[ROW] = [str(number) for number in draw.sample(range(10_000), rows)]
    if persons:
        cells["person"] = [str(draw.randrange(max(rows // 2, 1))) for _ in range(rows)]
    option = {
        "name": "made",
        "source": {"name": "csv", "path": "table.csv"},
        "columns": columns,
        "subject_id": "person" if persons else None,
        "target": "label",
        "task": "classification",
        "missing": {"markers": [MARKER]},
        "split": {"test": 0.0},
    }
    return Made(option, [{name: cells[name][row] for name in columns} for row in range(rows)])


def _column(draw: random.Random, name: str, rows: int) -> list[str]:
    """Draw cells from some of the values, seldom from one alone; missing ones where the column may have them."""
    values = CELLS[name]
    some = draw.sample(values, draw.choice([1, *range(2, len(values) + 1)]))
    if name == "label":
        some = values
    return draw.choices(some, [draw.choice([1, 1, 3]) for _ in some], k=rows)


def any_table(draw: random.Random) -> Made:
    """Make any table up: rows, columns and values at random."""
    quasi = draw.sample(list(QUASI), draw.randint(1, 4))
    sensitive = draw.sample(list(SENSITIVE), draw.randint(0, 2))
    return made(draw, draw.randint(4, 60), quasi, sensitive, persons=draw.random() < 0.25)


def any_criteria(draw: random.Random, sensitive: Sequence[str], k: int) -> list[dict[str, Any]]:
    """Draw criteria on some of the sensitive columns, k first."""
    limits: list[dict[str, Any]] = [
        {"name": "l_distinct", "l": 2},
        {"name": "l_entropy", "l": draw.choice([1.2, 1.5])},
        {"name": "l_recursive", "l": 2, "c": draw.choice([3.0, 9.0])},
        {"name": "alpha", "alpha": draw.choice([0.7, 0.9])},
        {"name": "t", "t": draw.choice([0.3, 0.5])},
        {"name": "t", "t": 0.4, "distance": "equal"},
        {"name": "beta", "beta": draw.choice([1.0, 3.0])},
        {"name": "beta_enhanced", "beta": 2.0},
        {"name": "delta_disclosure", "delta": 2.0, "absent": draw.choice(["skip", "strict"])},
    ]
    chosen = []
    for column in draw.sample(list(sensitive), draw.randint(0, len(sensitive))):
        own = [*limits, {"name": "t", "t": 0.4, "distance": "hierarchical"}] if column == "ill" else limits
        limit = draw.choice(own)
        chosen.append({**limit, "column": column, "others": draw.choice(["ignore", "ignore", "known"])})
    return [{"name": "k", "k": k}, *chosen]


def any_method(draw: random.Random, schema: DatasetSchema) -> Method:
    """Draw a method with its options and criteria."""
    common: dict[str, Any] = {"k": draw.choice([2, 2, 3, 5])}
    common["criteria"] = any_criteria(draw, schema.sensitive, common["k"])
    if draw.random() < 0.3:
        common["identifiers"] = {"patient": draw.choice([{"name": "mask", "keep": 9}, {"name": "pseudonymise"}])}
    kind = draw.choice(["guided", "lattice", "lattice", "mondrian", "mondrian", "pipeline", "pipeline"])
    if kind == "guided":
        shown = draw.choice(["median", "medoid", "range"])
        return Guided.model_validate({**common, "representative": shown})
    common["suppression_limit"] = draw.choice([0.0, 0.1, 0.3, 1.0])
    common["suppressed_rows"] = draw.choice(["star", "drop"])
    if kind == "mondrian":
        return Mondrian.model_validate(common)
    if kind == "lattice":
        return Lattice.model_validate({**common, **_searched(draw)})
    return Pipeline.model_validate({**common, "steps": any_steps(draw, schema)})


def _searched(draw: random.Random) -> dict[str, Any]:
    models = ["loss", "precision", "entropy", "discernibility", "average_class_size", "ambiguity"]
    return {
        "quality": draw.choice([*["loss"] * 3, *models]),
        "local_recoding": draw.random() < 0.4,
        "exact_nodes": draw.choice([1, 1_000_000, 1_000_000]),
    }


def any_steps(draw: random.Random, schema: DatasetSchema) -> list[dict[str, Any]]:
    """Draw steps that part the quasi-identifiers between them; at least one is searched."""
    names = draw.sample(schema.quasi_identifiers, len(schema.quasi_identifiers))
    cut = draw.randint(0, len(names) - 1)
    steps = [_coding(draw, schema, name) for name in names[:cut]]
    left = names[cut:]
    halves = [left[: len(left) // 2], left[len(left) // 2 :]] if draw.random() < 0.3 else [left]
    for columns in halves:
        if columns:
            searched = _searched(draw) if draw.random() < 0.5 else None
            steps.append({"name": "lattice" if searched else "mondrian", "columns": columns, **(searched or {})})
    return steps


def _coding(draw: random.Random, schema: DatasetSchema, name: str) -> dict[str, Any]:
    dtype = schema.column(name).dtype
    fitting: list[dict[str, Any]] = [{"name": "suppress"}, {"name": "generalise", "level": 1}]
    bounds = {"integer": (21, 60), "number": (0.0, 1.75), "ordered": ("I", "III"), "date": ("2024-01-01", "2024-02-01")}
    if dtype in bounds:
        fitting.append({"name": "top_bottom", **dict(zip(("bottom", "top"), bounds[dtype], strict=True))})
    if dtype in {"integer", "number", "date"}:
        fitting += [{"name": "microaggregate", "size": 3, "function": each} for each in ("mean", "median", "mode")]
    return {**draw.choice(fitting), "columns": [name]}
