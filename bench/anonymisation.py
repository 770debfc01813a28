"""What the anonymisation engine must hold, each point as a function of its size (see `bench.points`)."""

import csv
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from bench.points import Verdict
from bench.product import ADULT, ROOT, Finished, call

SHARED = ROOT.parent / "shared" / "data"
HIERARCHIES = SHARED / "hierarchies" / "adult"
ADULT_SIX = {
    "age": "age",
    "education": "education",
    "marital-status": "marital",
    "occupation": "occupation",
    "sex": "sex",
    "native-country": "country",
}
"""The quasi-identifiers of adult_six, each with its hierarchy file."""


@dataclass(frozen=True)
class Oracle:
    """A right answer for Adult: what was asked, the best levels, rows suppressed and Loss."""

    k: int
    limit: str
    levels: tuple[int, ...]
    suppressed: int
    loss: float
    criterion: str = ""


ORACLE = (
    Oracle(5, "0.0", (2, 3, 2, 1, 0, 2), 0, 0.503911934),
    Oracle(5, "0.02", (3, 1, 0, 1, 0, 2), 407, 0.262697922),
    Oracle(5, "0.10", (3, 1, 0, 0, 0, 1), 2266, 0.179658667),
    Oracle(10, "0.0", (6, 1, 2, 1, 0, 2), 0, 0.519018677),
    Oracle(10, "0.02", (4, 1, 0, 1, 0, 2), 598, 0.291877190),
    Oracle(10, "0.10", (3, 1, 0, 1, 0, 1), 1912, 0.214451270),
    Oracle(5, "0.02", (4, 1, 2, 1, 0, 1), 569, 0.341120248, "{name: l_distinct, l: 2}"),
    Oracle(5, "0.02", (3, 3, 0, 1, 0, 1), 466, 0.277070066, "{name: t, t: 0.5, distance: equal}"),
)
"""Exhaustively searched answers, known from elsewhere, for the 30,162 rows without missing cells."""


def adult_six(work: Path, *more: str) -> Finished:
    """Anonymise the whole of Adult on six quasi-identifiers, without a model."""
    files = (f"dataset.source.path={ADULT}", f"dataset.hierarchies={HIERARCHIES}")
    return call("dataset=adult_six", *files, "model=none", "dataset.split.test=0", *more, cwd=work)


def oracle(work: Path, rows: Sequence[Oracle] = ORACLE) -> Verdict:
    """Levels, suppressed rows and Loss of each oracle row, told by the record and recounted on the released file."""
    wrong, worst = [], 0.0
    for row in rows:
        criteria = f"[{{name: k, k: {row.k}}}" + (f", {row.criterion}]" if row.criterion else "]")
        done = adult_six(
            work,
            "anonymization=lattice",
            f"anonymization.suppression_limit={row.limit}",
            f"anonymization.criteria={criteria}",
        )
        if done.exit_code != 0:
            return Verdict(holds=False, figure=f"{row}: exit {done.exit_code}: {done.stderr.strip()}")
        how = done.record["anonymization"]["transformation"]
        released = done.release
        counted = _loss(released, row.levels)
        stars = int((released[list(ADULT_SIX)] == "*").all(axis=1).sum())
        levels = tuple(how["levels"][0][name] for name in ADULT_SIX)
        worst = max(worst, abs(how["loss"] - row.loss), abs(counted - row.loss))
        told = done.record["anonymization"]["suppressed"]
        if levels != row.levels or told != row.suppressed or stars != row.suppressed:
            wrong.append(f"{row}: levels {levels}, {told} suppressed, {stars} counted")
        classes = Counter(
            map(tuple, released.loc[~(released[list(ADULT_SIX)] == "*").all(axis=1), list(ADULT_SIX)].to_numpy())
        )
        if min(classes.values()) < row.k:
            wrong.append(f"{row}: a class of {min(classes.values())} on the released file")
    holds = not wrong and worst <= 1e-8
    figure = "; ".join(wrong) or f"{len(rows)} rows right, Loss off by {worst:.1e} at most, recounted on release.csv"
    return Verdict(holds, figure)


def _loss(released: pd.DataFrame, levels: Sequence[int]) -> float:
    """Recount Loss on a released file, straight from its definition: geometric mean over columns of 1 + v, less 1."""
    product = 1.0
    for (name, file), level in zip(ADULT_SIX.items(), levels, strict=True):
        with (HIERARCHIES / f"{file}.csv").open(encoding="utf-8", newline="") as opened:
            rows = list(csv.reader(opened))
        leaves = Counter(row[level].strip() for row in rows)
        shares = [leaves[cell] / len(rows) if cell != "*" else 1.0 for cell in released[name]]
        mean = sum(shares) / len(shares)
        product *= 1 + (mean - 1 / len(rows)) / (1 - 1 / len(rows))
    return float(product ** (1 / len(levels)) - 1)


def benchmark_dataset(work: Path, name: str, sensitive: str | None = None) -> list[str]:
    """Write a dataset option for one of the benchmark tables and return the arguments that use it.

    Every column is a quasi-identifier of text with its hierarchy file, but for the sensitive one.
    """
    folder = SHARED / "anonbench" / name
    tables = [path for path in folder.glob("*.csv") if "hierarchy" not in path.name]
    if not tables:
        raise FileNotFoundError(f"no table in {folder.name}")
    (table,) = tables
    header = table.read_text(encoding="utf-8").split("\n", 1)[0].strip().split(";")
    columns: dict[str, Any] = {}
    for column in header:
        columns[column] = {"dtype": "text", "role": "quasi_identifier"}
        columns[column] |= {"hierarchy": f"{table.stem}_hierarchy_{column}.csv"}
        if column == sensitive:
            columns[column] = {"dtype": "text", "role": "sensitive"}
    schema = {
        "name": name,
        "source": {"name": "csv", "path": str(table), "delimiter": ";"},
        "hierarchies": str(folder),
        "columns": columns,
        "split": {"test": 0.0},
    }
    return dataset_option(work, name, schema)


def dataset_option(work: Path, name: str, schema: dict[str, Any]) -> list[str]:
    """Write a dataset option into a folder of one's own and return the arguments that use it."""
    path = work / "conf" / "dataset" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(schema, sort_keys=False), encoding="utf-8")
    return ["--config-dir", str(work / "conf"), f"dataset={name}", "model=none"]


BENCHMARK = {"adult_arx": ("salary-class", "0.02"), "creditcard": (None, "0.05")}
"""Tables that others publish benchmarks of: the sensitive column of each, and the share that may be suppressed."""


def benchmark_tables(work: Path, names: Sequence[str] = tuple(BENCHMARK)) -> Verdict:
    """Anonymise adult_arx on 8 quasi-identifiers with its own hierarchies, and creditcard on all 24 columns."""
    figures, holds = [], True
    for name in names:
        sensitive, limit = BENCHMARK[name]
        start = time.perf_counter()
        arguments = benchmark_dataset(work, name, sensitive)
        done = call(*arguments, "anonymization=lattice", f"anonymization.suppression_limit={limit}", cwd=work)
        if done.exit_code != 0:
            return Verdict(holds=False, figure=f"{name}: exit {done.exit_code}: {done.stderr.strip()}")
        how = done.record["anonymization"]
        released = done.release.drop(columns=sensitive or [])
        kept = released[~(released == "*").all(axis=1)]
        smallest = min(Counter(map(tuple, kept.to_numpy())).values())
        (search,) = how["transformation"]["searches"]
        proved = "proved best" if search["proved"] else f"none below {search['lower_bound']:.6f}, as far as proved"
        holds &= smallest >= 5
        figures.append(
            f"{name}: k={smallest} counted, Loss {how['transformation']['loss']:.6f} ({proved}; {search['tried']:,} of "
            f"{search['nodes']:,} nodes tried), {how['suppressed']} suppressed, {time.perf_counter() - start:.0f} s"
        )
    return Verdict(holds, "; ".join(figures))


def eleven_columns(work: Path, limit: float = 30.0) -> Verdict:
    """11 quasi-identifiers of 3 levels on 10 rows: the plan says 177,147 nodes, and the run ends in time."""
    rng = np.random.default_rng(0)
    names = [f"q{number}" for number in range(11)]
    frame = pd.DataFrame({name: rng.choice(["a1", "a2", "b1", "b2"], 10) for name in names})
    frame.to_csv(work / "eleven.csv", index=False)
    hierarchy = {"name": "mask", "keep": [1]}
    columns = {name: {"dtype": "text", "role": "quasi_identifier", "hierarchy": hierarchy} for name in names}
    source = {"name": "csv", "path": str(work / "eleven.csv")}
    schema = {"name": "eleven", "source": source, "columns": columns, "split": {"test": 0.0}}
    arguments = [*dataset_option(work, "eleven", schema), "anonymization=lattice", "anonymization.k=2"]
    planned = call("plan", *arguments, cwd=work)
    start = time.perf_counter()
    done = call(*arguments, cwd=work)
    seconds = time.perf_counter() - start
    said = "177,147" in planned.stdout
    figure = f"plan says 177,147: {said}; exit {done.exit_code}, {seconds:.1f} s (limit {limit:.0f} s)"
    return Verdict(said and done.exit_code == 0 and seconds < limit, figure)


def million(work: Path, rows: int = 1_000_000) -> Verdict:
    """One million rows on 8 quasi-identifiers end to end by configuration, recounted on the released file."""
    rng = np.random.default_rng(0)
    spans = {"age": 80, "year": 40, "area": 100, "trade": 30, "school": 16, "status": 7, "land": 40, "sex": 2}
    cells = {name: (span * rng.beta(1, 3, rows)).astype(np.int64) for name, span in spans.items()}
    frame = pd.DataFrame({**cells, "sick": rng.choice(["no", "yes", "unsure"], rows, p=[0.7, 0.2, 0.1])})
    frame.to_csv(work / "million.csv", index=False)
    columns: dict[str, Any] = {}
    for name, span in spans.items():
        hierarchy = {"name": "intervals", "origin": 0, "widths": [5, 20]} if span > 10 else "*"
        columns[name] = {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": span - 1}
        columns[name]["hierarchy"] = hierarchy
    columns["sick"] = {"dtype": "category", "role": "sensitive", "values": ["no", "yes", "unsure"]}
    source = {"name": "csv", "path": str(work / "million.csv")}
    schema = {"name": "million", "source": source, "columns": columns, "split": {"test": 0.0}}
    start = time.perf_counter()
    options = ("anonymization=lattice", "anonymization.k=10", "anonymization.suppression_limit=0.05")
    done = call(*dataset_option(work, "million", schema), *options, cwd=work)
    seconds = time.perf_counter() - start
    if done.exit_code != 0:
        return Verdict(holds=False, figure=f"exit {done.exit_code}: {done.stderr.strip()}")
    released = done.release[list(spans)]
    sizes = released[~(released == "*").all(axis=1)].groupby(list(spans)).size()
    told = done.metric("anonymization", "k", when="after")
    holds = sizes.min() >= 10 and sizes.min() == told and len(released) == rows
    return Verdict(holds, f"{rows:,} rows, k={sizes.min()} counted, {told:.0f} recorded, {seconds:.0f} s end to end")
