"""Time and memory of model-guided anonymisation, as ratios that hold on any machine.

Processor time is compared with one plain scikit-learn tree fit on the same encoded rows, in one process, the two taking
turns; memory with the size of the table, in a process of its own, as Linux tells it. ``python -m bench.guided`` prints
both.
"""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from bench.clock import seconds
from bench.points import Verdict
from components.anonymization.declarations import Guided
from components.anonymization.guided.method import anonymise
from components.anonymization.release import Given
from components.classes.coding import encode
from components.data.table import Table
from schemas.dataset import DatasetSchema

ROWS = (10_000, 100_000, 400_000)
K = 10
TIME_LIMIT = 1.5
MEMORY_LIMIT = 3.0
MEMORY_FROM = 100_000
"""Below this many rows the few MB that any call needs weigh more than the table."""


@dataclass(frozen=True)
class Ratios:
    """What one size of table cost: seconds to seconds of a plain fit, peak memory to that of the table."""

    rows: int
    time: float
    seconds: float
    memory: float

    def __str__(self) -> str:
        """Say it in a line."""
        return f"{self.rows} rows: {self.time:.2f} x a tree fit ({self.seconds:.2f} s), {self.memory:.2f} x the table"


def table(rows: int, seed: int = 0) -> tuple[Table, np.ndarray]:
    """Make up a table of 12 quasi-identifiers, a sensitive column and predictions to follow.

    Four columns of real numbers (all different), four of whole numbers, four of categories.
    """
    rng = np.random.default_rng(seed)
    cells: dict[str, object] = {}
    columns: dict[str, dict[str, object]] = {}
    for number in range(4):
        cells[f"real{number}"] = rng.normal(size=rows)
        columns[f"real{number}"] = {"dtype": "number", "role": "quasi_identifier"}
        cells[f"whole{number}"] = rng.integers(0, 90, rows)
        columns[f"whole{number}"] = {"dtype": "integer", "role": "quasi_identifier"}
        values = [f"value {code}" for code in range(5 * (number + 1))]
        codes = rng.integers(0, len(values), rows)
        cells[f"kind{number}"] = pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(values))
        columns[f"kind{number}"] = {"dtype": "category", "values": values, "role": "quasi_identifier"}
    frame = pd.DataFrame(cells)
    signal = frame["real0"] + frame["whole0"] / 45 + (frame["kind0"].cat.codes == 2) + rng.normal(size=rows)
    answer = np.where(signal > signal.median(), "yes", "no")
    frame["answer"] = pd.Categorical(answer, categories=["no", "yes"])
    columns["answer"] = {"dtype": "category", "values": ["no", "yes"], "role": "sensitive"}
    schema = {"name": "bench", "source": {"name": "bench"}, "columns": columns}
    schema |= {"target": "answer", "task": "classification"}
    return Table(frame, DatasetSchema.model_validate(schema)), answer


def time_ratio(rows: int, repeats: int = 5) -> tuple[float, float]:
    """Return the ratio of the fastest anonymisation to the fastest plain fit, and the former's seconds.

    The anonymisation is the whole call: encoding, tree, classes, representatives, and measuring before and after.
    The plain fit gets the encoded rows for nothing.
    """
    made, answer = table(rows)
    columns = [made.schema.column(name) for name in made.schema.quasi_identifiers]
    encoded = np.column_stack([attribute.codes for attribute in encode(made.frame, columns)]).astype(np.float32)
    plain, whole = [], []
    for _ in range(repeats):
        plain.append(seconds(lambda: DecisionTreeClassifier(min_samples_leaf=K, random_state=0).fit(encoded, answer)))
        whole.append(seconds(lambda: anonymise(Guided(k=K), made, Given(predictions=answer))))
    return min(whole) / min(plain), min(whole)


def memory_ratio(rows: int) -> float:
    """Return peak memory of one anonymisation beyond what stood before it, to the size of the table."""
    code = f"from bench.guided import _print_memory; _print_memory({rows})"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def ratios(sizes: Sequence[int] = ROWS, repeats: int = 5) -> list[Ratios]:
    """Measure time and memory at each size."""
    found = []
    for rows in sizes:
        ratio, taken = time_ratio(rows, repeats if rows < ROWS[-1] else min(repeats, 3))
        found.append(Ratios(rows, ratio, taken, memory_ratio(rows)))
    return found


def hold(found: Sequence[Ratios]) -> bool:
    """Tell whether all ratios are within their limits."""
    return all(one.time <= TIME_LIMIT and (one.memory <= MEMORY_LIMIT or one.rows < MEMORY_FROM) for one in found)


def proof(_work: Path) -> Verdict:
    """Time and memory at every size, within their limits."""
    found = ratios()
    return Verdict(hold(found), "; ".join(map(str, found)))


def main() -> int:
    """Print the ratios of every size; 1 when one is over its limit."""
    found = ratios()
    for one in found:
        sys.stdout.write(f"guided anonymisation, {one}\n")
    return 0 if hold(found) else 1


def _print_memory(rows: int) -> None:
    made, answer = table(rows)
    small, said = table(1000)
    anonymise(Guided(k=K), small, Given(predictions=said))  # what is loaded on first use is no memory of the table's
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is counted anew
    release = anonymise(Guided(k=K), made, Given(predictions=answer))
    peak = _resident("VmHWM") - before
    if len(release.table.frame) != rows:
        raise RuntimeError("rows were lost")
    sys.stdout.write(f"{peak / made.frame.memory_usage(deep=True).sum()}\n")


def _resident(field: str) -> int:
    """Return a figure of this process's memory in bytes, as Linux tells it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = [line for line in lines if line.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    raise SystemExit(main())
