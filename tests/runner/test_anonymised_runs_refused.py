"""Runs that can't give what was asked for, or whose method went wrong: the stated outcome, and nothing released."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.counted import Asked, differences
from bench.made import MARKER, Made, made
from components.anonymization import publishing
from components.anonymization.criteria import requirements
from components.anonymization.criteria.declarations import K
from components.anonymization.lattice import method as lattice
from components.anonymization.mondrian import method as mondrian
from components.anonymization.pipeline import method as pipeline
from components.anonymization.pipeline import working as pipeline_steps

QUASI = ["age", "region", "stage", "zip"]


@pytest.fixture(scope="module")
def site(empty_site: Any) -> Any:
    """Return a site with a table that is large enough for most criteria."""
    empty_site.write("rows", few(150, "ill", "grade", seed=16))
    return empty_site


def few(rows: int, *sensitive: str, seed: int = 6) -> Made:
    """Make a small table up."""
    return made(random.Random(seed), rows, QUASI, sensitive or ["ill"], persons=False)  # noqa: S311  # no secrets


STEPS = (
    "anonymization.steps=[{name: top_bottom, columns: [age], bottom: 21, top: 60}, {name: suppress, columns: [zip]},"
    " {name: lattice, columns: [region, stage]}]"
)
METHODS = {
    "guided": ("anonymization=guided", "model=tree", "dataset.split.test=.01", "encoder.learn=true"),
    "lattice": ("anonymization=lattice", "model=none"),
    "lattice, local": ("anonymization=lattice", "anonymization.local_recoding=true", "model=none"),
    "mondrian": ("anonymization=mondrian", "model=none"),
    "pipeline": ("anonymization=pipeline", STEPS, "model=none"),
}


@pytest.mark.parametrize("method", METHODS)
def test_k_above_the_rows_is_told_before_any_search(site: Any, method: str) -> None:
    site.write("seven", few(7))
    done = site.run("seven", *METHODS[method], "anonymization.k=8")
    assert done.refused(4)[0].startswith("anonymization.k (anonymization.k=8): k=8 but 7 rows; ")
    assert {stage["name"] for stage in done.record["stages"]} <= {"dataset"}


@pytest.mark.parametrize("method", ["guided", "lattice", "mondrian", "pipeline"])
def test_an_empty_table_has_no_k(site: Any, method: str) -> None:
    site.write("empty", few(5))
    header = (site.folder / "empty.csv").read_text().splitlines()[0]
    (site.folder / "empty.csv").write_text(header + "\n")
    (sentence,) = site.run("empty", *METHODS[method]).refused(3)
    assert sentence.startswith("file 'empty.csv': 0 rows; k undefined")


@pytest.mark.parametrize("method", METHODS)
def test_what_no_table_can_reach_is_told_with_the_most_that_it_reaches(site: Any, method: str) -> None:
    rows = [{**row, "ill": "flu" if number % 2 else "angina"} for number, row in enumerate(few(20).rows)]
    site.write("two", replace(few(20), rows=rows))
    limit = "anonymization.criteria=[{name: k, k: 2}, {name: l_distinct, l: 3, column: ill}]"
    done = site.run("two", *METHODS[method], limit)
    (sentence,) = done.refused(4)
    place, _, rest = sentence.partition(": ")
    assert place == "anonymization.criteria, l_distinct on column 'ill'"
    assert rest.startswith("asks for 3; the whole table as one class reaches 2; at most 2 can be reached on these rows")
    assert {stage["name"] for stage in done.record["stages"]} <= {"dataset", "split"}


def test_what_the_levels_do_not_reach_is_told_with_the_best_and_what_holds_it_back(site: Any) -> None:
    stuck = "anonymization.levels={age: {max: 1}, region: {max: 0}, stage: {max: 1}, zip: {max: 1}}"
    asked = "anonymization.criteria=[{name: k, k: 20}, {name: t, t: 0.1, column: ill}]"
    first, *reasons = site.run("rows", "anonymization=lattice", stuck, asked, "model=none").refused(4)
    assert first.startswith(
        "anonymization: no levels that may be used meet the criteria; fewest rows are suppressed at "
    )
    assert re.search(r"age \d, region \d, stage \d, zip \d", first)
    told = " ".join(reasons)
    for part in (
        "k: asks for at least 20; the worst class reaches ",
        "t on column 'ill': asks for at most 0.1; the worst",
    ):
        assert part in told
    assert re.search(r"\d+ of 150 rows are in classes that miss it", told)


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("lattice", ["anonymization.levels={age: {max: 0}, region: {max: 0}, stage: {max: 0}, zip: {max: 0}}"]),
        ("pipeline", ["anonymization.steps=[{name: suppress, columns: [zip]}]"]),
    ],
)
def test_a_release_without_any_row_left_is_refused(site: Any, method: str, more: list[str]) -> None:
    rows = [{**row, "age": str(20 + number)} for number, row in enumerate(few(7).rows)]
    site.write("apart", replace(few(7), rows=rows))
    done = site.run("apart", *METHODS[method], *more, "anonymization.k=5", "anonymization.suppression_limit=1")
    sentences = done.refused(4)
    assert any("every one of the 7 rows would have to be suppressed" in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("lattice", ["anonymization.levels={age: {max: 0}}"]),
        ("mondrian", []),
        ("pipeline", ["anonymization.steps=[{name: suppress, columns: [zip]}]"]),
    ],
)
def test_more_suppression_than_may_be_is_refused(site: Any, method: str, more: list[str]) -> None:
    table = few(20)
    rare = [{**row, "ill": "flu" if number else "angina"} for number, row in enumerate(table.rows)]
    ages = [{**row, "age": "30" if number > 5 else str(40 + number)} for number, row in enumerate(rare)]
    site.write("rare", replace(table, rows=ages))
    asked = "anonymization.criteria=[{name: k, k: 2}, {name: alpha, alpha: 0.5, column: ill}]"
    limit = "anonymization.suppression_limit=.1"
    sentences = site.run("rare", *METHODS[method], *more, asked, limit).refused(4)
    told = " ".join(sentences)
    assert "20 rows would have to be suppressed" in told
    assert re.search(r"alpha on column 'ill': asks for at most 0.5; the worst class reaches [\d.]+", told)


def test_a_hierarchy_that_splits_groups_is_refused(site: Any) -> None:
    column = {"dtype": "text", "role": "quasi_identifier", "hierarchy": "groups.csv"}
    table = few(12)
    rows = [{**row, "zip": "abcd"[number % 4]} for number, row in enumerate(table.rows)]
    split = Made({**table.option, "columns": {**table.option["columns"], "zip": column}}, rows)
    site.write("split", split)
    (site.folder / "groups.csv").write_text("a;ab;ac\nb;ab;bd\nc;cd;ac\nd;cd;bd\n")
    (sentence,) = site.run("split", "anonymization=lattice", "model=none", "anonymization.k=2").refused(3)
    assert sentence.startswith("column 'zip', hierarchy groups.csv, level 2: splits 2 groups of level 1, such as 'ab' ")


@pytest.mark.parametrize("method", ["lattice", "mondrian", "pipeline"])
def test_a_missing_quasi_identifier_is_a_value_of_its_own(site: Any, method: str) -> None:
    table = few(40, seed=11)
    blank = [{**row, "age": MARKER, "region": MARKER} if number < 10 else row for number, row in enumerate(table.rows)]
    site.write("blank", replace(table, rows=blank))
    done = site.run("blank", *METHODS[method], "anonymization.k=3")
    assert done.code == 0, done.err
    assert differences(done.release, Asked(blank, table.schema, [K(k=3)]), done.how["after"]) == []


def test_a_quasi_identifier_without_hierarchy_is_told_without_leaving_anything(site: Any) -> None:
    table = few(12)
    bare = {**table.option["columns"], "zip": {"dtype": "text", "role": "quasi_identifier", "nullable": True}}
    site.write("bare", Made({**table.option, "columns": bare}, table.rows))
    typed = ("dataset=bare", "anonymization=lattice", "model=none", "output.dir=nothing", "--config-dir", "options")
    code, _, err = site.do(*typed)
    (sentence,) = err.splitlines()
    assert code == 2
    assert "the method lattice needs a hierarchy for every quasi-identifier; without one: zip; " in sentence
    assert not (site.folder / "nothing").exists()
    assert site.run("bare", "anonymization=mondrian", "model=none", "anonymization.k=2").code == 0


# What goes wrong in a method is caught before anything is released


def nobody(patch: pytest.MonkeyPatch) -> None:
    """Suppress no row, whatever was found."""
    for module in (lattice, pipeline):
        patch.setattr(
            module,
            "published_by_rest",
            lambda _table, publish, gone, _limit: (publish(np.zeros_like(gone)), np.zeros_like(gone)),
        )


def shown(patch: pytest.MonkeyPatch) -> None:
    """Let suppressed rows show their cells instead of stars."""
    starred = publishing._starred  # noqa: SLF001  # what is broken on purpose

    def raw(table: Any, columns: Any, gone: Any) -> Any:
        found = starred(table, columns, gone)
        for one in found:
            one.cells[gone] = table.frame[one.column.name].astype("string").array[gone]
        return found

    patch.setattr(publishing, "_starred", raw)


def always(_: Any, figures: Any) -> np.ndarray:
    """Stand in for the comparison of figures with their limit."""
    return np.ones(np.shape(figures), dtype=np.bool_)


def met(patch: pytest.MonkeyPatch) -> None:
    """Let searches look at requirements that every class meets; those of the release are bound anew."""
    bound = requirements.Requirement

    class Lenient(bound):  # type: ignore[misc,valid-type]
        met = always

    def lenient(requirements: Any) -> list[Any]:
        return [Lenient(**{name: getattr(one, name) for name in bound.__slots__}) for one in requirements]

    search, divide, suppress = lattice.search_columns, mondrian.divide, pipeline.suppress
    for module in (lattice, pipeline_steps):
        patch.setattr(
            module, "search_columns", lambda params, table, asked, *more: search(params, table, lenient(asked), *more)
        )
    patch.setattr(
        mondrian,
        "divide",
        lambda axes, tuples, **more: divide(axes, replace(tuples, requirements=lenient(tuples.requirements)), **more),
    )
    for module in (mondrian, pipeline):
        patch.setattr(module, "suppress", lambda asked, *more: suppress(lenient(asked), *more))


@pytest.mark.parametrize(
    ("method", "broken"),
    [
        ("lattice", nobody),  # mondrian has no label for a row that is not in a box
        ("pipeline", nobody),
        *((method, broken) for broken in (shown, met) for method in ("lattice", "mondrian", "pipeline")),
    ],
)
def test_a_method_gone_wrong_releases_nothing(
    site: Any, method: str, broken: Callable[[pytest.MonkeyPatch], None]
) -> None:
    asked = "[{name: k, k: 3}, {name: l_distinct, l: 2, column: ill}, {name: t, t: 0.5, column: grade}]"
    typed = (*METHODS[method], f"anonymization.criteria={asked}", "anonymization.suppression_limit=.3")
    sound = site.run("rows", *typed)
    assert sound.code == 0, sound.err
    assert sound.how["suppressed"] > 0  # else there is nothing to go wrong with
    with pytest.MonkeyPatch.context() as patch:
        broken(patch)
        done = site.run("rows", *typed, f"protection.purpose={broken.__name__}")
    told = done.refused(4)
    assert all("was measured on the release" in sentence for sentence in told)
    assert done.record["anonymization"] is None
