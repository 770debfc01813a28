"""Time and memory of the optimal search of a lattice, as ratios that hold on any machine.

What is measured is `search`, all in: from the table's frame to the best levels and the rows to suppress. It encodes the
columns, binds the criteria, climbs the hierarchies, collapses the rows, searches the lattice and marks the rows. What a
release is made of after that (published cells, what a model is trained on) is output, and no part of a search.

Processor time is compared with that of one plain pandas groupby over the same six quasi-identifiers, as categories, in
one process, the two taking turns. Memory is the most that a search holds at once beyond the table, with nothing taken
off, not even the codes that it makes; it is compared with the codes of these columns as they are held, one byte a cell.
It is told by tracemalloc, which numpy and pandas' hash tables report to, and so is the same at every call: a process's
resident size depends on what the allocator still holds from before.

A search keeps the distinct tuples with their counts, whatever the number of rows behind them. For those `FIXED_MEMORY`
is allowed where it is more than twice the codes. Where nearly all rows are distinct tuples, the tuples are as many as
the rows, and a search that keeps them can't do with twice the codes: `distinct_table` is such a case. It takes 74 bytes
a row, 12.3 times the codes of its six columns, and is held to `TUPLE_MEMORY`.

The table is Adult, drawn with replacement, and k grows with it: else every row would have k others like it.
``python -m bench.lattice`` prints all figures; given the interpreter of an environment in which anjana is installed,
also how long that takes.
"""

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.anonymisation import ADULT_SIX, HIERARCHIES
from bench.clock import seconds
from bench.points import Verdict
from bench.product import ADULT
from components.anonymization.criteria.requirements import required
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.hierarchy import climb
from components.anonymization.hierarchies.sources import load
from components.anonymization.lattice.method import Found, search_columns
from components.classes.coding import Attribute, encode
from components.data.table import Table
from schemas.dataset import DatasetSchema

ADULT_ROWS = 30_162
"""Rows of Adult without missing cells."""

LIMITS = {ADULT_ROWS: 20.0, 300_000: 5.0, 1_000_000: 2.5}
"""Largest ratio of a search for k at each number of rows; twice that with l or t."""

CRITERIA: dict[str, list[dict[str, Any]]] = {
    "k": [],
    "l": [{"name": "l_distinct", "l": 2}],
    "t": [{"name": "t", "t": 0.5, "distance": "equal"}],
}
MEMORY_LIMIT = 2.0
"""Largest ratio of the memory of a search to the codes of the quasi-identifiers."""

FIXED_MEMORY = 2_000_000
"""Bytes that a search may take for the 13,054 distinct tuples of Adult and its 1,512 nodes, however few the rows."""

TUPLE_MEMORY = 128
"""Bytes a distinct tuple that a search may take where nearly all rows are distinct."""

DISTINCT_ROWS = 100_000


@dataclass(frozen=True)
class Ratios:
    """What one size of table cost.

    Parameters
    ----------
    rows : int
    times : dict of str to float
        Seconds of a search to those of a groupby, per criterion.
    seconds : dict of str to float
        Of a search, per criterion.
    peaks : dict of str to int
        Most bytes that a search held at once, per criterion.
    codes : int
        Bytes of the codes of the quasi-identifiers.
    """

    rows: int
    times: dict[str, float]
    seconds: dict[str, float]
    peaks: dict[str, int]
    codes: int

    def __str__(self) -> str:
        """Say it in a line."""
        times = ", ".join(f"{name} {ratio:.1f} ({self.seconds[name]:.3f} s)" for name, ratio in self.times.items())
        peaks = ", ".join(f"{name} {peak / self.codes:.2f} ({peak / 1e6:.2f} MB)" for name, peak in self.peaks.items())
        return f"{self.rows} rows: {times} x a groupby; memory {peaks} x the codes"

    @property
    def holds(self) -> bool:
        """Whether every figure is within its limit."""
        in_time = all(ratio <= LIMITS[self.rows] * (1 if name == "k" else 2) for name, ratio in self.times.items())
        return in_time and max(self.peaks.values()) <= max(MEMORY_LIMIT * self.codes, FIXED_MEMORY)


@dataclass(frozen=True)
class Distinct:
    """What memory a search takes where nearly all rows are distinct; as `Ratios`, for k."""

    rows: int
    peak: int
    codes: int

    def __str__(self) -> str:
        """Say it in a line."""
        times = self.peak / self.codes
        return (
            f"{self.rows} rows, all distinct: memory {times:.1f} x the codes, {self.peak / self.rows:.0f} bytes a tuple"
        )

    @property
    def holds(self) -> bool:
        """Whether it is within its limit."""
        return self.peak <= TUPLE_MEMORY * self.rows


@cache
def table(rows: int) -> Table:
    """Draw a table from Adult, six quasi-identifiers and one sensitive column; Adult itself at its own size."""
    frame = pd.read_csv(ADULT, skipinitialspace=True, dtype=str)
    frame = frame[~(frame == "?").any(axis=1)][[*ADULT_SIX, "salary-class"]].reset_index(drop=True)
    frame["age"] = frame["age"].astype("int64")
    columns: dict[str, dict[str, Any]] = {}
    for name in frame.columns:
        columns[name] = {"dtype": "integer", "role": "quasi_identifier"}
        if name != "age":
            values = sorted(frame[name].unique())
            frame[name] = pd.Categorical(frame[name], categories=values)
            columns[name] |= {"dtype": "category", "values": values}
        if name in ADULT_SIX:
            columns[name]["hierarchy"] = f"{ADULT_SIX[name]}.csv"
        else:
            columns[name]["role"] = "sensitive"
    schema = {"name": "bench", "source": {"name": "bench"}, "columns": columns, "hierarchies": str(HIERARCHIES)}
    if rows != len(frame):
        drawn = np.random.default_rng(0).integers(0, len(frame), rows)
        frame = frame.iloc[drawn].reset_index(drop=True)
    return Table(frame, DatasetSchema.model_validate(schema))


@cache
def distinct_table(rows: int) -> Table:
    """Make up a table of six quasi-identifiers of a hundred values each: no two rows are alike, but for a few."""
    cells = np.random.default_rng(0).integers(0, 100, (rows, len(ADULT_SIX)))
    steps = {"name": "intervals", "origin": 0, "widths": [10, 50]}
    columns = {name: {"dtype": "integer", "role": "quasi_identifier", "hierarchy": steps} for name in ADULT_SIX}
    schema = {"name": "bench", "source": {"name": "bench"}, "columns": columns}
    return Table(pd.DataFrame(cells, columns=list(ADULT_SIX)), DatasetSchema.model_validate(schema))


def search(made: Table, hierarchies: Any, criterion: str) -> Found:
    """Search from the table to the levels and the rows to suppress, all in; its hierarchies are loaded."""
    asked = {
        "k": max(2, round(5 * len(made.frame) / ADULT_ROWS)),
        "criteria": CRITERIA[criterion],
        "suppression_limit": 0.02,
    }
    params = Lattice.model_validate(asked)
    ladders = [climb(unit, hierarchies[unit.name]) for unit in _encoded(made)]
    return search_columns(params, made, required(params, made), ladders, params.suppression_limit)


def time_ratios(rows: int, repeats: int = 5) -> tuple[dict[str, float], dict[str, float]]:
    """Return the ratio of the fastest search to the fastest groupby for each criterion, and the former's seconds."""
    made = table(rows)
    hierarchies = load(made.schema, Path())
    plain = made.frame[list(ADULT_SIX)].astype({"age": "category"})
    grouped, searched = [], {name: [] for name in CRITERIA}  # type: dict[str, list[float]]
    for _ in range(repeats):
        grouped.append(seconds(lambda: plain.groupby(list(ADULT_SIX), observed=True).size()))
        for name, taken in searched.items():
            taken.append(seconds(lambda name=name: search(made, hierarchies, name)))
    fastest = {name: min(taken) for name, taken in searched.items()}
    return {name: taken / min(grouped) for name, taken in fastest.items()}, fastest


def memory(made: Table, criterion: str) -> int:
    """Return the most bytes that one search holds at once beyond the table."""
    hierarchies = load(made.schema, Path())
    few = Table(made.frame.head(1000), made.schema)
    search(few, hierarchies, criterion)  # what is loaded on first use is no memory of the table's
    tracemalloc.start()
    search(made, hierarchies, criterion)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def code_bytes(made: Table) -> int:
    """Return the size of the quasi-identifiers' codes."""
    return sum(unit.codes.nbytes for unit in _encoded(made))


def ratios(sizes: Sequence[int] = tuple(LIMITS), repeats: int = 5) -> list[Ratios]:
    """Measure time and memory at each size."""
    found = []
    for rows in sizes:
        peaks = {name: memory(table(rows), name) for name in CRITERIA}
        found.append(Ratios(rows, *time_ratios(rows, repeats), peaks, code_bytes(table(rows))))
    return found


def distinct(rows: int = DISTINCT_ROWS) -> Distinct:
    """Measure memory where nearly all rows are distinct."""
    made = distinct_table(rows)
    return Distinct(rows, memory(made, "k"), code_bytes(made))


def proof(_work: Path) -> Verdict:
    """Time and memory at every size, within their limits."""
    found = [*ratios(), distinct()]
    return Verdict(all(one.holds for one in found), "; ".join(map(str, found)))


def beside_anjana(interpreter: str) -> str:
    """Time anjana's k-anonymity on Adult in an environment of its own, on the same columns, hierarchies and limit."""
    with_files = {name: str(HIERARCHIES / f"{file}.csv") for name, file in ADULT_SIX.items()}
    asked = json.dumps({"adult": str(ADULT), "files": with_files, "k": 5, "limit": 2.0})
    done = subprocess.run([interpreter, "-c", _ANJANA, asked], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        return f"anjana: not measured ({done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'no output'})"
    made = table(ADULT_ROWS)
    hierarchies = load(made.schema, Path())
    ours = min(seconds(lambda: search(made, hierarchies, "k")) for _ in range(3))
    theirs = float(done.stdout)
    return f"anjana: {theirs:.2f} s, ours {ours:.3f} s on the same table: {theirs / ours:.0f} x"


def main() -> int:
    """Print the ratios of every size; 1 when one is over its limit."""
    found = [*ratios(), distinct()]
    for one in found:
        sys.stdout.write(f"lattice search, {one}\n")
    beside = "anjana: not asked for; python -m bench.lattice INTERPRETER, that of an environment with anjana installed"
    sys.stdout.write((beside_anjana(sys.argv[1]) if len(sys.argv) > 1 else beside) + "\n")
    return 0 if all(one.holds for one in found) else 1


_ANJANA = """
import csv, json, sys, time
import pandas as pd
from anjana.anonymity import k_anonymity
asked = json.loads(sys.argv[1])
frame = pd.read_csv(asked["adult"], skipinitialspace=True, dtype=str)
frame = frame[~(frame == "?").any(axis=1)][[*asked["files"], "salary-class"]].reset_index(drop=True)
levels = {}
for name, file in asked["files"].items():
    with open(file, encoding="utf-8", newline="") as opened:
        steps = list(zip(*([cell.strip() for cell in row] for row in csv.reader(opened))))
    levels[name] = {number: list(step) for number, step in enumerate(steps)}
start = time.process_time()
k_anonymity(frame, [], list(asked["files"]), asked["k"], asked["limit"], levels)
print(time.process_time() - start)
"""


def _encoded(made: Table) -> list[Attribute]:
    return encode(made.frame, [made.schema.column(name) for name in ADULT_SIX])


if __name__ == "__main__":
    raise SystemExit(main())
