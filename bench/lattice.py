"""Time and memory of the optimal search of a lattice, as ratios that hold on any machine.

Processor time is compared with that of one plain pandas groupby over the same six quasi-identifiers, as categories, in
one process, the two taking turns; memory with the size of these columns as integer codes, in a process of its own, as
Linux tells it. The table is Adult, drawn with replacement, and k grows with it: else every row would have k others
like it. ``python -m bench.lattice`` prints both; given the interpreter of an environment in which anjana is installed,
also how long that takes.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.anonymisation import ADULT_SIX, HIERARCHIES
from bench.points import Verdict
from bench.product import ADULT
from components.anonymization.criteria.requirements import required
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.hierarchy import climb
from components.anonymization.hierarchies.sources import load
from components.anonymization.lattice.method import Found, search_columns
from components.classes.coding import encode
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
MEMORY_FROM = 1_000_000
"""Below this many rows the few MB that any call needs weigh more than the columns."""


@dataclass(frozen=True)
class Ratios:
    """What one size of table cost: seconds to seconds of a groupby, per criterion; peak memory to that of the codes."""

    rows: int
    times: dict[str, float]
    seconds: dict[str, float]
    memory: float

    def __str__(self) -> str:
        """Say it in a line."""
        times = ", ".join(f"{name} {ratio:.1f} ({self.seconds[name]:.3f} s)" for name, ratio in self.times.items())
        return f"{self.rows} rows: {times} x a groupby, {self.memory:.2f} x the codes"


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


def search(made: Table, hierarchies: Any, criterion: str) -> Found:
    """Search from the table to the levels and the rows to suppress, all in; its hierarchies are loaded."""
    asked = {
        "k": max(2, round(5 * len(made.frame) / ADULT_ROWS)),
        "criteria": CRITERIA[criterion],
        "suppression_limit": 0.02,
    }
    params = Lattice.model_validate(asked)
    units = encode(made.frame, [made.schema.column(name) for name in ADULT_SIX])
    ladders = [climb(unit, hierarchies[unit.name]) for unit in units]
    return search_columns(params, made, required(params, made), ladders, params.suppression_limit)


def time_ratios(rows: int, repeats: int = 5) -> tuple[dict[str, float], dict[str, float]]:
    """Return the ratio of the fastest search to the fastest groupby for each criterion, and the former's seconds."""
    made = table(rows)
    hierarchies = load(made.schema, Path())
    plain = made.frame[list(ADULT_SIX)].astype({"age": "category"})
    grouped, searched = [], {name: [] for name in CRITERIA}  # type: dict[str, list[float]]
    for _ in range(repeats):
        grouped.append(_seconds(lambda: plain.groupby(list(ADULT_SIX), observed=True).size()))
        for name, taken in searched.items():
            taken.append(_seconds(lambda name=name: search(made, hierarchies, name)))
    seconds = {name: min(taken) for name, taken in searched.items()}
    return {name: taken / min(grouped) for name, taken in seconds.items()}, seconds


def memory_ratio(rows: int) -> float:
    """Return peak memory of one search for k beyond what stood before it, to that of the columns as 64-bit codes."""
    code = f"from bench.lattice import _print_memory; _print_memory({rows})"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def ratios(sizes: Sequence[int] = tuple(LIMITS), repeats: int = 5) -> list[Ratios]:
    """Measure time and memory at each size."""
    return [Ratios(rows, *time_ratios(rows, repeats), memory_ratio(rows)) for rows in sizes]


def hold(found: Sequence[Ratios]) -> bool:
    """Tell whether all ratios are within their limits."""
    return all(_holds(one) for one in found)


def proof(_work: Path) -> Verdict:
    """Time and memory at every size, within their limits."""
    found = ratios()
    return Verdict(hold(found), "; ".join(map(str, found)))


def beside_anjana(interpreter: str) -> str:
    """Time anjana's k-anonymity on Adult in an environment of its own, on the same columns, hierarchies and limit."""
    with_files = {name: str(HIERARCHIES / f"{file}.csv") for name, file in ADULT_SIX.items()}
    asked = json.dumps({"adult": str(ADULT), "files": with_files, "k": 5, "limit": 2.0})
    done = subprocess.run([interpreter, "-c", _ANJANA, asked], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        return f"anjana: not measured ({done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'no output'})"
    made = table(ADULT_ROWS)
    hierarchies = load(made.schema, Path())
    ours = min(_seconds(lambda: search(made, hierarchies, "k")) for _ in range(3))
    theirs = float(done.stdout)
    return f"anjana: {theirs:.2f} s, ours {ours:.3f} s on the same table: {theirs / ours:.0f} x"


def main() -> int:
    """Print the ratios of every size; 1 when one is over its limit."""
    found = ratios()
    for one in found:
        sys.stdout.write(f"lattice search, {one}\n")
    if len(sys.argv) > 1:
        sys.stdout.write(beside_anjana(sys.argv[1]) + "\n")
    return 0 if hold(found) else 1


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


def _holds(one: Ratios) -> bool:
    limit = LIMITS[one.rows]
    in_time = all(ratio <= limit * (1 if name == "k" else 2) for name, ratio in one.times.items())
    return in_time and (one.memory <= MEMORY_LIMIT or one.rows < MEMORY_FROM)


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _print_memory(rows: int) -> None:
    made, small = table(rows), table(1000)
    hierarchies = load(made.schema, Path())
    search(small, hierarchies, "k")  # what is loaded on first use is no memory of the table's
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is counted anew
    search(made, hierarchies, "k")
    sys.stdout.write(f"{(_resident('VmHWM') - before) / (8 * rows * len(ADULT_SIX))}\n")


def _resident(field: str) -> int:
    """Return a figure of this process's memory in bytes, as Linux tells it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = [line for line in lines if line.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    raise SystemExit(main())
