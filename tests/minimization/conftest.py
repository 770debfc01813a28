"""People with a column of every kind, problems over them, and a rule that stands for a model."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from components.minimization.attributes import BELOW, Attribute, attributes_of
from components.minimization.generalizer import Cells, Generalizer, Ranges
from components.minimization.partitions import Partition, middle
from components.minimization.problem import Answers, Ask, Problem, Rows
from schemas.dataset import DatasetSchema

REGIONS = ["north", "south", "west", "<0 DM"]
GRADES = ["none", "some", "much"]
HOUSES = ["own", "rent", "free"]
ZIPS = ["01001", "01002", "99999"]
COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"dtype": "integer", "min": 17, "max": 90, "unit": "years"},
    "visits": {"dtype": "integer", "min": 0, "max": 12, "nullable": True},
    "income": {"dtype": "number", "min": 0, "max": 1e5, "unit": "EUR", "description": "income of a year"},
    "height": {"dtype": "number", "min": 1.2, "max": 2.2, "nullable": True, "unit": "m"},
    "region": {"dtype": "category", "values": REGIONS},
    "branch": {"dtype": "category", "values": [f"branch {number}" for number in range(9)], "nullable": True},
    "grade": {"dtype": "ordered", "values": GRADES, "nullable": True},
    "zip": {"dtype": "text", "values": ZIPS, "nullable": True},
    "smoker": {"dtype": "boolean"},
    "member": {"dtype": "boolean", "nullable": True},
    "born": {"dtype": "date", "min": "1930-01-01", "max": "2010-12-31", "nullable": True},
    "seen": {"dtype": "datetime", "min": "2024-01-01T00:00:00", "max": "2024-12-31T00:00:00+00:00"},
    **{f"house_{name}": {"dtype": "integer", "min": 0, "max": 1, "group": "house"} for name in HOUSES},
    "one": {"dtype": "integer", "min": 1, "max": 1},
    "outcome": {"dtype": "category", "values": ["well", "ill"], "role": "sensitive"},
}


def _schema() -> DatasetSchema:
    columns = {name: {"role": "quasi_identifier"} | column for name, column in COLUMNS.items()}
    rest = {"target": "outcome", "task": "classification"}
    return DatasetSchema.model_validate({"name": "people", "source": None, "columns": columns, **rest})


def _frame(rows: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    days = pd.Timestamp("1930-01-01") + pd.to_timedelta(random.integers(0, 29_000, rows), unit="D")
    moments = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(random.integers(0, 31_000_000, rows), unit="s")
    house = random.integers(0, len(HOUSES), rows)
    frame = pd.DataFrame(
        {
            "age": random.integers(17, 91, rows),
            "visits": pd.array(random.integers(0, 13, rows), dtype="Int64"),
            "income": random.gamma(3, 9000, rows).clip(0, 1e5),
            "height": random.normal(1.7, 0.1, rows).clip(1.2, 2.2),
            "region": pd.Categorical.from_codes(random.integers(0, 4, rows), REGIONS),
            "branch": pd.Categorical.from_codes(random.integers(0, 9, rows), COLUMNS["branch"]["values"]),
            "grade": pd.Categorical.from_codes(random.integers(0, 3, rows), GRADES, ordered=True),
            "zip": pd.array(random.choice(ZIPS, rows), dtype="string"),
            "smoker": random.random(rows) < 0.4,
            "member": pd.array(random.random(rows) < 0.5, dtype="boolean"),
            "born": pd.Series(days).astype("datetime64[us]"),
            "seen": pd.Series(moments).astype("datetime64[us, UTC]"),
            **{f"house_{name}": (house == place).astype(np.int64) for place, name in enumerate(HOUSES)},
            "one": np.ones(rows, dtype=np.int64),
        }
    )
    burden = frame["age"] / 90 + 0.4 * frame["smoker"] + 0.3 * (frame["region"] == "west") - frame["income"] / 1e5
    frame["outcome"] = pd.Categorical(np.where(burden > 0.5, "ill", "well"), categories=["well", "ill"])
    for name in (name for name, column in COLUMNS.items() if column.get("nullable")):
        frame[name] = frame[name].mask(random.random(rows) < 0.1)
    return frame


def _rule(frame: pd.DataFrame) -> Answers:
    """Answer as a fixed rule over age, income, smoker and region: class positions, shape (rows, 1)."""
    burden = frame["age"] / 90 + 0.4 * frame["smoker"] + 0.3 * (frame["region"] == "west") - frame["income"] / 1e5
    return (burden.to_numpy(dtype=np.float64) > 0.5).astype(np.int64)[:, np.newaxis]


def _problem(  # noqa: PLR0913  # facts of one problem, each with what is usual
    frame: pd.DataFrame,
    schema: DatasetSchema,
    ask: Ask,
    *,
    columns: list[str] | None = None,
    target: float = 0.95,
    regression: bool = False,
    shares: tuple[float, float] = (0.6, 0.2),
    report_rows: int | None = None,
    weights: dict[str, float] | None = None,
    seed: int = 0,
) -> Problem:
    """Make a problem: the first share of the rows is `fit`, the next `calibration`, the rest counts as report rows."""
    attributes: tuple[Attribute, ...] = tuple(attributes_of(schema, schema.features if columns is None else columns))
    first = round(shares[0] * len(frame))
    second = first + round(shares[1] * len(frame))
    fit, calibration = (Rows.of(part, ask(part), attributes) for part in (frame.iloc[:first], frame.iloc[first:second]))
    judged = len(frame) - second if report_rows is None else report_rows
    return Problem(attributes, ask, regression, fit, calibration, judged, target, weights or {}, seed)


def _partition(attribute: Attribute, random: np.random.Generator) -> Partition | None:
    """Make one of all that can be collected: a value as it is, nothing, whether it is known, ranges or groups."""
    kind = random.integers(0, 6)
    if kind == 0:
        return None
    if kind == 1:
        return Partition.whole(attribute)
    apart = attribute.columns[0].nullable and bool(random.integers(0, 2))
    size = len(attribute.values)
    if attribute.kind == "nominal":
        groups = random.integers(0, random.integers(1, 5), size)
        missing = 9 if apart else int(random.choice(groups))
        found, numbered = np.unique([*groups, missing], return_inverse=True)
        return Partition(attribute, groups=tuple(map(int, random.permutation(len(found))[numbered])))
    if attribute.kind == "ordered":
        inside = np.arange(size - 1) + 0.5
    else:
        inside = np.unique(np.floor(random.uniform(attribute.low, attribute.high, 6)))
    cuts = inside[random.random(len(inside)) < 0.6]
    return Partition(attribute, cuts=(*((BELOW,) if apart else ()), *map(float, cuts)))


def _standing(partition: Partition | None) -> npt.NDArray[np.float64]:
    if partition is None:
        return np.array([])
    attribute = partition.attribute
    if attribute.kind == "nominal":
        return np.array([float(partition.groups.index(part)) for part in range(partition.size)])
    ends = [BELOW, *partition.cuts, np.inf]
    return np.array([middle(attribute, start, end) for start, end in pairwise(ends)])


def _cells(ranges: list[Ranges], random: np.random.Generator, count: int) -> Cells:
    """Make cells that may overlap, and need not hold every row; representatives are those of any part."""
    admitted, standing = {}, {}
    for each in ranges:
        if each.partition is None:
            continue
        size = each.partition.size
        held = random.random((count, size)) < 0.6
        if each.attribute.kind != "nominal":
            first, last = np.sort(random.integers(0, size, (2, count)), axis=0)
            held = (np.arange(size) >= first[:, None]) & (np.arange(size) <= last[:, None])
        held[np.arange(count), random.integers(0, size, count)] |= ~held.any(axis=1)
        admitted[each.attribute.name] = held
        standing[each.attribute.name] = each.representatives[random.integers(0, size, count)]
    agrees = random.random(count) < 0.9
    return Cells(admitted, standing, agrees, random.integers(0, 2, (count, 1)).astype(np.float64))


def _generalizer(schema: DatasetSchema, seed: int, columns: list[str] | None = None, **more: Any) -> Generalizer:
    """Make any generaliser of the columns of a schema: each attribute at random, with cells by the use asked for."""
    random = np.random.default_rng(seed)
    ranges = []
    for attribute in attributes_of(schema, schema.features if columns is None else columns):
        partition = _partition(attribute, random)
        number = attribute.kind == "number"
        default = attribute.high if number else float(random.integers(0, len(attribute.values)))
        ranges.append(Ranges(attribute, partition, _standing(partition), default))
    use = more.setdefault("use", "representatives" if random.integers(0, 2) else "ranges")
    cells = _cells(ranges, random, int(random.integers(1, 80))) if use == "representatives" else None
    return Generalizer("made", ranges=tuple(ranges), cells=cells, **more)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Keep OpenMP from spinning: the tables here are small."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def people_schema() -> DatasetSchema:
    """Return the schema of the people: every dtype, most of them nullable, a one-hot group and a constant column."""
    return _schema()


@pytest.fixture(scope="session")
def people() -> Callable[[int, int], pd.DataFrame]:
    """People, by number of rows and seed; a tenth of each nullable column is missing."""
    return _frame


@pytest.fixture(scope="session")
def rule() -> Ask:
    """Return a rule over age, income, smoker and region that stands for a model of the people's outcome."""
    return _rule


@pytest.fixture(scope="session")
def problem_for() -> Callable[..., Problem]:
    """Problems: ``problem_for(frame, schema, ask, columns=, target=, shares=, report_rows=, ...)``, see `_problem`."""
    return _problem


@pytest.fixture(scope="session")
def any_generalizer() -> Callable[..., Generalizer]:
    """Generalisers at random: ``any_generalizer(schema, seed, columns, use=, outside=)``."""
    return _generalizer
