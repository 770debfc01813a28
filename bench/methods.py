"""Every method on random tables: what is released, read back as text, is what was asked for and told."""

import os
import random
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.counted import Asked, differences
from bench.made import Made, any_method, any_table
from bench.points import Verdict
from components.anonymization import Given, Release
from components.anonymization.criteria.declarations import Criterion, K
from components.anonymization.criteria.requirements import least_k
from components.anonymization.declarations import Guided, Method, Microaggregate, Pipeline, Suppressing, Transform
from components.anonymization.hierarchies.sources import load as hierarchies_of
from components.data import Table
from components.registry import load
from runner import canonical
from runner.releasing import measure_written, write_table
from schemas.dataset import DatasetSchema
from schemas.faults import DataError, GoalError

AGREED = "transformation.json"


def methods(work: Path, examples: int = 4000, seed: int = 0) -> Verdict:
    """Try methods with criteria on tables, all at random.

    Of each release the file on disk is counted by the slow checker; nothing but quasi-identifiers and suppressed rows
    differs from the table; rows in another order give the same bytes; the caller's frame is left alone; and where a
    transformation is agreed on, applying it to the same table gives the same bytes.
    """
    start, ended, wrong = time.perf_counter(), Counter[str](), []
    with patch.dict(os.environ, PSEUDONYM_KEY="a key for made-up persons alone"):
        for number in range(seed, seed + examples):
            said, problems = one(work, number)
            ended[said] += 1
            wrong += [f"seed {number} ({said}): {problem}" for problem in problems]
    told = ", ".join(f"{count} {said}" for said, count in sorted(ended.items()))
    released = examples - sum(count for said, count in ended.items() if said.endswith("refused"))
    first = "; ".join(wrong[:5])
    figure = f"{examples} tables: {told}; {len(wrong)} differences{': ' if first else ''}{first}"
    enough = released >= examples / 2
    return Verdict(not wrong and enough, f"{figure}; {time.perf_counter() - start:.0f} s")


def one(work: Path, seed: int) -> tuple[str, list[str]]:
    """Try one method on one table; return what became of it, and all that is wrong with it."""
    draw = random.Random(seed)  # noqa: S311  # made-up tables, not secrets
    made = any_table(draw)
    params = any_method(draw, made.schema)
    table = made.table(work)
    shuffled = Table(table.frame.iloc[draw.sample(range(len(made.rows)), len(made.rows))], table.schema)
    before = table.frame.copy(deep=True)
    try:
        release = _anonymised(params, table, work)
    except (GoalError, DataError) as error:
        return f"{params.name} refused", _refused_rightly(error, params, table, shuffled, work)
    problems = _problems(work / "one", release, params, made, table)
    if not table.frame.equals(before):
        problems.append("the caller's frame was written to")
    first = (work / "one" / "release.csv").read_bytes()
    if _written(work / "two", _anonymised(params, shuffled, work)) != first:
        problems.append("rows in another order give another release")
    if release.agreed is not None and isinstance(params, Suppressing):
        (work / AGREED).write_bytes(canonical.dumps(canonical.plain(release.agreed)))
        fields = set(Suppressing.model_fields) - {"name"}
        again = Transform.model_validate({**params.model_dump(include=fields), "path": AGREED})
        try:
            same = _written(work / "three", _anonymised(again, table, work)) == first
        except GoalError as error:
            problems.append(f"the agreed transformation is refused: {error}")
        else:
            problems += [] if same else ["the agreed transformation gives another release"]
    return f"{params.name} released", problems


def _refused_rightly(
    error: GoalError | DataError, params: Method, table: Table, shuffled: Table, work: Path
) -> list[str]:
    """Return what is wrong with a refusal: that it has no ground, that it came late, or follows the order of rows."""
    if "was measured on the release" in str(error):
        return [f"the method missed what it was asked for: {error}"]
    if isinstance(error, DataError):  # rows that show * by their own value, and on all other columns by the method's
        cells = table.frame[table.schema.quasi_identifiers].astype("string").eq("*").any()
        if "nobody could tell them from suppressed rows" not in str(error) or not cells.any():
            return [f"refused without ground: {error}"]
    try:
        _anonymised(params, shuffled, work)
    except type(error):
        return []
    return ["rows in another order are released"]


def _anonymised(params: Method, table: Table, work: Path) -> Release:
    says = np.asarray(table.frame["label"].astype(str))
    given = Given(predictions=says, hierarchies=hierarchies_of(table.schema, work), base=work)
    release: Release = load(params.component)(params, table, given)
    return release


def _problems(folder: Path, release: Release, params: Method, made: Made, table: Table) -> list[str]:
    folder.mkdir(exist_ok=True)
    written = write_table(release.table, lambda path: folder / Path(path).name)
    if measure_written(written, release, table) != release.after:
        return ["the release on disk measures otherwise"]
    told: Any = canonical.plain(asdict(release.after))
    held = Asked(made.rows, made.schema, asked(params), list(params.identifiers), replaced(params, made.schema))
    found = differences(written.csv, held, told)
    rest = release.table.frame[[name for name in release.table.frame if name in ("row", "visits", "note")]]
    if not rest.equals(table.frame.loc[rest.index, rest.columns]):
        found.append("index, dtypes or order of other columns differ")
    return found


def _written(folder: Path, release: Release) -> bytes:
    folder.mkdir(exist_ok=True)
    return write_table(release.table, lambda path: folder / Path(path).name).csv.read_bytes()


def replaced(params: Method, schema: DatasetSchema) -> list[str]:
    """Return the quasi-identifiers that a method fills with values of other rows."""
    if isinstance(params, Guided):
        return [] if params.representative == "range" else schema.quasi_identifiers
    steps = params.steps if isinstance(params, Pipeline) else []
    return [name for step in steps if isinstance(step, Microaggregate) for name in step.columns]


def asked(params: Method) -> list[Criterion]:
    """Return what was asked for, k first."""
    return [K(k=least_k(params)), *(criterion for criterion in params.criteria if not isinstance(criterion, K))]
