"""Time and memory of minimisation, as ratios that hold on any machine; rows a second of what it leaves.

A fit is the whole call: rows held out, the model asked, the search. Its processor time is compared with one plain
scikit-learn tree fit on the same encoded rows, in one process, the two taking turns; memory with the size of the table,
in a process of its own, as Linux tells it. ``python -m bench.minimization`` prints all of it.
"""

import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from bench.clock import seconds
from bench.guided import _resident, table
from bench.points import Verdict
from components.data.table import Table
from components.minimization.attributes import BELOW, Attribute, attributes_of
from components.minimization.declarations import Greedy, Minimization, Tree
from components.minimization.generalizer import Cells, Generalizer, Ranges, Use
from components.minimization.holdout import hold_out
from components.minimization.partitions import Partition
from components.minimization.problem import Problem, Rows
from components.minimization.result import Found
from components.registry import load
from schemas.dataset import DatasetSchema

USES: tuple[Use, ...] = ("ranges", "representatives")
METHODS: dict[str, Minimization] = {"tree": Tree(target=0.95), "greedy": Greedy(target=0.95)}
ROWS = 10_000
GROWN = (100_000, 1_000_000)
FIT_LIMIT = 30.0
GROWTH_LIMIT = 13.0
"""Of the time of a fit and of a transform over ten times the rows; 10 is linear."""

MEMORY_LIMIT = 4.0
TRANSFORM_ROWS = 200_000
TRANSFORM_LIMIT = 200_000.0
"""Rows a second."""

RANGES, CELLS = 16, 300
"""Ranges of each attribute, and cells, of what is measured at work."""


@dataclass(frozen=True)
class Learned:
    """A table with a fitted model of its answer: a decision tree, asked about frames."""

    train: Table
    test: Table
    model: DecisionTreeClassifier
    features: npt.NDArray[np.float32]
    answers: npt.NDArray[Any]

    @classmethod
    def of(cls, rows: int) -> "Learned":
        """Make up `rows` train rows of 12 columns, half as many test rows, and fit the model."""
        made, answer = table(rows + rows // 2)
        features, answers = _features(made.frame.head(rows), made.schema), answer[:rows]
        model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(features, answers)
        train, test = (Table(frame, made.schema) for frame in (made.frame.head(rows), made.frame.tail(rows // 2)))
        return cls(train, test, model, features, answers)

    def ask(self, frame: pd.DataFrame) -> npt.NDArray[np.int64]:
        """Return the model's answers, shape (rows, 1)."""
        found = self.model.tree_.predict(_features(frame, self.train.schema)).argmax(axis=-1)
        return np.asarray(found, dtype=np.int64).reshape(-1, 1)


def fit(params: Minimization, learned: Learned) -> Found:
    """Minimise all twelve columns: what the runner does but for its files."""
    schema = learned.train.schema
    sides = hold_out(params, learned.train, learned.test, 0)
    attributes = tuple(attributes_of(schema, schema.quasi_identifiers, learn_from=sides.fit.frame))
    one, other = (Rows.of(side.frame, learned.ask(side.frame), attributes) for side in (sides.fit, sides.calibration))
    problem = Problem(attributes, learned.ask, False, one, other, len(sides.report.frame), 0.95)  # noqa: FBT003
    found: Found = load(params.component)(params, problem)
    return found


def fit_ratio(method: str, rows: int = ROWS, repeats: int = 3) -> tuple[float, float]:
    """Return the ratio of the fastest fit to the fastest plain tree fit on the same rows, and the former's seconds."""
    learned = Learned.of(rows)
    plain, whole = [], []
    for _ in range(repeats):
        plain.append(
            seconds(
                lambda: DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(
                    learned.features, learned.answers
                )
            )
        )
        whole.append(seconds(lambda: fit(METHODS[method], learned)))
    return min(whole) / min(plain), min(whole)


def generalizer(use: Use, schema: DatasetSchema, rows: pd.DataFrame) -> Generalizer:
    """Return one at full size: every attribute in ranges or groups, and cells over all twelve."""
    random = np.random.default_rng(0)
    ranges = tuple(map(_cut, attributes_of(schema, schema.quasi_identifiers, learn_from=rows)))
    admitted, standing = {}, {}
    for each in ranges:
        size = 1 if each.partition is None else each.partition.size
        held = random.random((CELLS, size)) < 0.8
        held[:, 0] |= ~held.any(axis=1)
        admitted[each.attribute.name] = held
        standing[each.attribute.name] = each.representatives[random.integers(0, size, CELLS)]
    cells = Cells(admitted, standing, np.ones(CELLS, dtype=bool), np.zeros((CELLS, 1)))
    return Generalizer("bench", use, ranges, cells)


def working(use: Use, rows: int, repeats: int = 3) -> float:
    """Return the seconds in which a generaliser of 12 columns transforms so many rows."""
    made, _ = table(rows)
    at_work = generalizer(use, made.schema, made.frame)
    return min(seconds(partial(at_work.transform, made.frame)) for _ in range(repeats))


def growth(method: str, repeats: int = 2) -> float:
    """Return how much longer a fit to ten times the rows takes."""
    taken = []
    for rows in GROWN:
        learned = Learned.of(rows)
        taken.append(min(seconds(partial(fit, METHODS[method], learned)) for _ in range(repeats)))
    return taken[1] / taken[0]


def memory_ratio(method: str, rows: int = GROWN[0]) -> float:
    """Return peak memory of one fit and transform beyond what stood before it, to the size of the table."""
    code = f"from bench.minimization import _print_memory; _print_memory('{method}', {rows})"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def measured() -> list[tuple[bool, str]]:
    """Measure everything: whether each figure is within its limit, and the figure in a line."""
    lines = []
    for use in USES:
        rate = TRANSFORM_ROWS / working(use, TRANSFORM_ROWS)
        lines.append((rate >= TRANSFORM_LIMIT, f"transform by {use}: {rate:,.0f} rows/s"))
        grown = working(use, GROWN[1]) / working(use, GROWN[0])
        lines.append((grown <= GROWTH_LIMIT, f"transform by {use}: {grown:.1f} x for ten times the rows"))
    for method in METHODS:
        ratio, taken = fit_ratio(method)
        lines.append((ratio <= FIT_LIMIT, f"{method}: fit {ratio:.1f} x a tree fit ({taken:.2f} s, {ROWS:,} rows)"))
        memory = memory_ratio(method)
        lines.append((memory <= MEMORY_LIMIT, f"{method}: {memory:.2f} x the table of {GROWN[0]:,} rows in memory"))
        grown = growth(method)
        lines.append((grown <= GROWTH_LIMIT, f"{method}: fit {grown:.1f} x for ten times the rows"))
    return lines


def proof(_work: Path) -> Verdict:
    """Time, memory and rows a second, within their limits."""
    lines = measured()
    return Verdict(all(holds for holds, _ in lines), "; ".join(line for _, line in lines))


def main() -> int:
    """Print every figure; 1 when one is over its limit."""
    lines = measured()
    for holds, line in lines:
        sys.stdout.write(f"minimisation, {line}{'' if holds else ' (over its limit)'}\n")
    return 0 if all(holds for holds, _ in lines) else 1


def _cut(attribute: Attribute) -> Ranges:
    if attribute.kind == "nominal":
        size = len(attribute.values)
        groups = [place % min(RANGES, size) for place in range(size)]
        partition = Partition(attribute, groups=(*groups, max(groups) + 1))
        return Ranges(attribute, partition, np.array([*sorted(set(groups)), size], dtype=np.float64), 0.0)
    ends = np.linspace(attribute.low, attribute.high, RANGES + 1)[1:]
    cuts = (BELOW, *map(float, ends[:-1]))
    return Ranges(attribute, Partition(attribute, cuts=cuts), np.array([BELOW, *np.floor(ends)]), attribute.low)


def _features(frame: pd.DataFrame, schema: DatasetSchema) -> npt.NDArray[np.float32]:
    names = schema.quasi_identifiers
    features = np.empty((len(frame), len(names)), dtype=np.float32)
    for place, name in enumerate(names):
        cells = frame[name]
        features[:, place] = cells.cat.codes if isinstance(cells.dtype, pd.CategoricalDtype) else cells
    return features


def _print_memory(method: str, rows: int) -> None:
    fit(METHODS[method], Learned.of(2000))  # what is loaded on first use is no memory of the table's
    learned = Learned.of(rows)
    size = sum(part.frame.memory_usage(deep=True).sum() for part in (learned.train, learned.test))
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is counted anew
    found: Any = fit(METHODS[method], learned).minimized
    new = found.transform(learned.train.frame)
    peak = _resident("VmHWM") - before
    if len(new) != rows:
        raise RuntimeError("rows were lost")
    sys.stdout.write(f"{peak / size}\n")


if __name__ == "__main__":
    raise SystemExit(main())
