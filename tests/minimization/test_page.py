"""The words of a form, and the page of what needs to be asked."""

import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.minimization import Generalizer, to_contract
from components.minimization.attributes import BELOW, Attribute, attributes_of
from components.minimization.collected import to_collected, told_as
from components.minimization.generalizer import Ranges
from components.minimization.page import page
from components.minimization.partitions import Partition
from components.minimization.wording import choices, question
from schemas.dataset import DatasetSchema
from schemas.generalizations import Generalizations, Verdict

Make = Callable[..., Generalizer]
EVIL = '"><script>alert(1)</script>'


@cache
def _one(kind: str) -> Attribute:
    column: dict[str, Any] = {
        "whole": {"dtype": "integer", "min": 0, "max": 90, "unit": "years", "description": "age of the person"},
        "large": {"dtype": "integer", "min": 0, "max": 99_999},
        "real": {"dtype": "number", "min": 0, "max": 10, "nullable": True},
        "date": {"dtype": "date", "min": "1930-01-01", "max": "2010-12-31"},
        "time": {"dtype": "datetime", "min": "2024-01-01", "max": "2024-12-31"},
        "ordered": {"dtype": "ordered", "values": ["low", "mid", "high"]},
        "boolean": {"dtype": "boolean", "nullable": True},
        "few": {"dtype": "category", "values": ["a", "b", "c"], "nullable": True},
        "many": {"dtype": "category", "values": [f"value {place}" for place in range(12)]},
    }[kind]
    declared = {"x-ray_dose": {"role": "insensitive"} | column}
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": declared})
    return attributes_of(schema, ["x-ray_dose"])[0]


def _cut(kind: str, *cuts: float) -> list[str]:
    return choices(_one(kind), Partition(_one(kind), cuts=cuts))


def _moment(text: str) -> float:
    return float(np.datetime64(text, "us").astype(np.int64))


@pytest.mark.parametrize(
    ("kind", "cuts", "said"),
    [
        ("whole", (25.5, 40), ["up to 25", "26 to 40", "41 and more"]),
        ("whole", (0.5, 1.5, 89), ["0", "1", "2 to 89", "90"]),
        ("large", (9999.5,), ["up to 9,999", "10,000 and more"]),
        ("real", (2.5, 5.5), ["up to 2.5 (or not known)", "above 2.5, up to 5.5", "above 5.5"]),
        ("real", (BELOW, 2.5), ["up to 2.5", "above 2.5", "not known"]),
        ("real", (BELOW,), ["known", "not known"]),
        ("ordered", (0.5, 1.5), ["low", "mid", "high"]),
        ("ordered", (1.5,), ["low to mid", "high"]),
        (
            "date",
            (_moment("1984-12-31"), _moment("1990-06-30")),
            ["up to 1984-12-31", "1985-01-01 to 1990-06-30", "1990-07-01 and later"],
        ),
        ("time", (_moment("2024-03-01T12:30"),), ["up to 2024-03-01 12:30 UTC", "after 2024-03-01 12:30 UTC"]),
    ],
)
def test_ranges_are_told_as_a_form_asks(kind: str, cuts: tuple[float, ...], said: list[str]) -> None:
    assert _cut(kind, *cuts) == said


@pytest.mark.parametrize(
    ("kind", "groups", "said"),
    [
        ("few", (0, 1, 0, 2), ["a or c", "b", "not known"]),
        ("few", (0, 1, 0, 0), ["a or c (or not known)", "b"]),
        ("boolean", (0, 1, 2), ["no", "yes", "not known"]),
        ("many", (0, 0, *[1] * 10, 1), ["value 0 or value 1", "any other"]),
    ],
)
def test_groups_list_their_values_and_a_long_one_is_what_the_others_leave(
    kind: str, groups: tuple[int, ...], said: list[str]
) -> None:
    assert choices(_one(kind), Partition(_one(kind), groups=groups)) == said


def test_questions_are_asked_by_the_description_and_the_unit_or_the_name() -> None:
    whole, boolean, few = _one("whole"), _one("boolean"), _one("few")
    assert question(whole, Partition(whole, cuts=(25.5,))) == "Age of the person (years): which of these?"
    assert question(whole, None) == "Age of the person (years): which value exactly?"
    assert question(boolean, None) == "X ray dose: yes or no?"
    assert question(few, Partition.whole(few)) == "X ray dose: not asked"
    assert question(few, Partition(few, groups=(0, 0, 0, 1))) == "X ray dose: known or not?"
    assert choices(few, None) == choices(few, Partition.whole(few)) == []


def test_a_unit_that_the_name_tells_is_not_told_twice() -> None:
    column = {"dtype": "number", "min": 0, "max": 300, "unit": "kg", "role": "insensitive"}
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": {"weight_kg": column}})
    assert question(attributes_of(schema, ["weight_kg"])[0], None) == "Weight kg: which value exactly?"


class _Reader(HTMLParser):
    """Reads a page: its text, its elements, whatever they point to, and whether they are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags, self.links, self.open = "", [], [], []  # type: ignore[var-annotated]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in {"src", "href"} or name.startswith("on")]
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if "style" not in self.open else ""


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def contract(people_schema: DatasetSchema, any_generalizer: Make, people: Callable[..., pd.DataFrame]) -> Any:
    made = any_generalizer(people_schema, 11, use="representatives")
    losses = made.losses(made.encode(people(100, 0)))
    return to_contract(made, losses, Verdict(target=0.95, agreement=0.96214, low=0.94999, rows=1234, met=False))


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    names = ["age", EVIL]
    necessity = {
        "attribute": names,
        "changed": [0.1, 0.0],
        "low": [0.08, 0.0],
        "high": [0.12, 0.003],
        "rows": [1000] * 2,
    }
    order = {"attribute": names, "asked": [0.9, 0.0], "position": [1.2, np.nan]}
    return {"necessity": pd.DataFrame(necessity), "order": pd.DataFrame(order)}


def test_the_page_needs_nothing_else_and_runs_nothing(
    contract: Generalizations, tables: dict[str, pd.DataFrame]
) -> None:
    html = page(contract, **tables)
    read = _read(html)
    assert read.links == []
    assert not {"script", "img", "link", "iframe", "object", "form", "base"} & set(read.tags)
    assert not re.search(r"url\(|@import|https?:|//", html)
    assert len(html.encode()) < 200_000


def test_everything_is_escaped(contract: Generalizations, tables: dict[str, pd.DataFrame]) -> None:
    collected = contract.attributes[0].model_copy(
        update={"name": EVIL, "text": f"{EVIL}: which of these?", "choices": [EVIL, "<0 DM", "$title"]}
    )
    html = page(
        contract.model_copy(update={"attributes": [collected]}), **tables, about=EVIL, notes=[EVIL], figures={EVIL: 1.0}
    )
    assert "<script" not in html
    read = _read(html)
    assert read.text.count(EVIL) >= 6
    assert "<0 DM" in read.text
    assert "$title" in read.text


def test_the_page_says_what_was_promised_and_reached_without_rounding_it_up(contract: Generalizations) -> None:
    text = _read(page(contract)).text.replace("\N{NO-BREAK SPACE}", " ")
    for figure in ("95 %", "96.21 %", "94.99 %", "1,234", "is not shown"):
        assert figure in text
    assert "was not judged" in _read(page(contract.model_copy(update={"verdict": None}))).text


def test_r2_is_no_percentage(contract: Generalizations) -> None:
    verdict = Verdict(measure="r2", target=0.9, agreement=0.93999, low=0.9, rows=50, met=True)
    text = _read(page(contract.model_copy(update={"verdict": verdict}))).text
    assert "R2 of at least 0.9 " in text
    assert "0.9399" in text
    assert "and is shown" in text


@pytest.mark.parametrize(("met", "said"), [(True, "and it is shown."), (False, "and it is not shown.")])
def test_a_target_that_nobody_asked_for_is_told_as_the_runs_own(
    contract: Generalizations,
    met: bool,  # noqa: FBT001  # a parameter
    said: str,
) -> None:
    verdict = Verdict(target=0.95, agreement=0.99, low=0.96 if met else 0.94, rows=50, met=met)
    judged = contract.model_copy(update={"verdict": verdict})
    text = _read(page(judged, chosen=True)).text
    assert f"Nobody asked for a figure: the run chose one that its rows can show, {said}" in text
    assert "Chosen by the run" in text
    assert "sked for, and" not in text
    assert "This was asked for, and is" in _read(page(judged)).text


def _many(cuts: int) -> Generalizations:
    real = _one("real")
    made = Ranges(real, Partition(real, cuts=tuple(np.arange(1, cuts + 1) / 10)), np.zeros(cuts + 1), 0.0)
    return to_contract(Generalizer("made", "ranges", (made,)), {"x-ray_dose": 0.5})


def test_of_many_ranges_the_first_and_the_last_stand_there_and_the_others_unfold() -> None:
    html = page(_many(59))
    between = html[html.index("<details>") : html.index("</details>")]
    assert "<summary>55 more, as in generalizations.json</summary>" in between
    assert between.count("<li>") == 55
    listed = re.findall(r"<li>([^<]*)</li>", html[: html.index("What this does not say")])
    assert listed == _many(59).attributes[0].choices
    assert [choice in between for choice in listed] == [False] * 4 + [True] * 55 + [False]
    assert "<details>" not in page(_many(11))


def test_the_last_range_stands_there_before_not_known() -> None:
    real = _one("real")
    made = Ranges(real, Partition(real, cuts=(BELOW, *range(1, 10), 9.1, 9.2, 9.3, 9.4)), np.zeros(15), 0.0)
    html = page(to_contract(Generalizer("made", "ranges", (made,)), {"x-ray_dose": 0.5}))
    assert re.findall(r"<li>([^<]*)</li>", html[html.index("</details>") :])[:2] == ["above 9.4", "not known"]


def test_one_is_no_several(contract: Generalizations) -> None:
    text = _read(page(_many(3))).text
    assert "1 attribute: 1 by range." in text
    one = contract.model_copy(update={"cells": contract.cells[:1], "attributes": contract.attributes[2:3]})
    assert "All answers lead to one cell" in _read(page(one)).text
    flagged = one.model_copy(update={"cells": [contract.cells[0].model_copy(update={"agrees": False})]})
    assert "In 1 of 1 cell most rows" in _read(page(flagged)).text


def test_what_is_only_asked_to_be_known_is_told_so() -> None:
    real = _one("real")
    made = Ranges(real, Partition(real, cuts=(BELOW,)), np.array([BELOW, 5.0]), 0.0)
    text = _read(page(to_contract(Generalizer("made", "ranges", (made,)), {"x-ray_dose": 0.9}))).text
    assert "1 by whether it is known" in text
    assert "whether known" in text


def test_an_attribute_has_one_name_all_over_the_page(
    contract: Generalizations, tables: dict[str, pd.DataFrame]
) -> None:
    """What tables call it stands beside it once, where it is collected."""
    named = {name: table.replace({"attribute": {"age": "house_own", EVIL: "income"}}) for name, table in tables.items()}
    income = next(each for each in contract.attributes if each.name == "income")
    learned = contract.model_copy(update={"attributes": [income.model_copy(update={"learned": True})]})
    text = _read(page(learned, **named, notes=["'income' stays exact", "'other' does not"])).text
    assert text.count("Income of a year (EUR)") == 5
    assert text.count("income") == 1
    assert "'Income of a year (EUR)' stays exact" in text
    assert "'other' does not" in text


def test_every_attribute_and_choice_is_on_the_page(contract: Generalizations) -> None:
    text = _read(page(contract)).text
    for each in contract.attributes:
        assert each.text.rsplit(":", 1)[0] in text
        assert all(choice in text for choice in each.choices)


def test_groups_of_one_value_each_are_told_as_what_they_are(people_schema: DatasetSchema) -> None:
    (region,) = attributes_of(people_schema, ["region"])
    for groups, how in (((0, 1, 2, 3, 0), "exactly"), ((0, 1, 2, 2, 0), "a group")):
        standing = np.arange(max(groups) + 1.0)
        made = Generalizer("made", "ranges", (Ranges(region, Partition(region, groups=groups), standing, 0.0),))
        assert f">{how}</span>" in page(to_contract(made, {"region": 0.0}))


@pytest.mark.parametrize(
    ("column", "cuts", "how"),
    [
        ({"dtype": "integer", "min": 0, "max": 2}, (0.5, 1.5), "exact"),
        ({"dtype": "integer", "min": 0, "max": 2}, (0.5,), "ranges"),
        ({"dtype": "number", "min": 0, "max": 2}, (0.5, 1.5), "ranges"),
        ({"dtype": "ordered", "values": ["low", "mid"]}, (0.5,), "exact"),
        ({"dtype": "integer", "min": 1, "max": 1}, (), "nothing"),
        ({"dtype": "integer", "min": 0, "max": 2, "nullable": True}, (BELOW,), "nothing"),
    ],
)
def test_exact_is_what_loses_nothing_by_its_own_ranges(column: dict[str, Any], cuts: Any, how: str) -> None:
    declared = {"x": {"role": "insensitive"} | column}
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": declared})
    (attribute,) = attributes_of(schema, ["x"])
    made = Ranges(attribute, Partition(attribute, cuts=cuts), np.zeros(len(cuts) + 1), 0.0)
    assert told_as(to_collected(made, 0.7)) == how  # whatever is lost in cells


def test_cells_are_said_to_tell_less_than_the_answers(contract: Generalizations) -> None:
    assert f"lead to one of {len(contract.cells)} cells" in _read(page(contract)).text
    asked = contract.model_copy(update={"use": "ranges", "cells": []})
    assert "cells" not in _read(page(asked)).text


def test_the_order_of_asking_and_the_audit_stand_there_where_they_are_given(
    contract: Generalizations, tables: dict[str, pd.DataFrame]
) -> None:
    figures = {"features_asked_mean": 3.44, "features_asked_p90": 6.0, "asked_everything": 0.053}
    text = _read(page(contract, **tables, figures=figures)).text
    assert "asked for 3.4 of them on average; nine of ten for no more than 6" in text
    assert "All that is collected is asked of 5.3\N{NO-BREAK SPACE}% of persons; what is left by then" in text
    assert "in one turn" not in _read(page(contract, **tables, figures=figures | {"asked_everything": 0.0})).text
    assert "never" in text
    assert "How far each is needed" in text
    bare = _read(page(contract)).text
    assert "In which order" not in bare
    assert "How far each is needed" not in bare


def test_advice_of_the_audit_is_shown(contract: Generalizations, tables: dict[str, pd.DataFrame]) -> None:
    audit = tables["necessity"].assign(changed_minimized=[0.25, 0.0], advice=["", "could be left out"])
    text = _read(page(contract, audit)).text
    assert "could be left out" in text
    assert "25.0\N{NO-BREAK SPACE}%" in text


def test_cells_whose_values_change_most_answers_are_counted(contract: Generalizations) -> None:
    flagged = [place < 2 for place in range(len(contract.cells))]
    cells = [cell.model_copy(update={"agrees": not flag}) for cell, flag in zip(contract.cells, flagged, strict=True)]
    told = f"In 2 of {len(cells)} cells most rows that it was learned from do not keep the model's answer"
    assert _read(page(contract.model_copy(update={"cells": cells}))).text.count(told) == 1
    agreeing = [cell.model_copy(update={"agrees": True}) for cell in cells]
    assert "do not keep" not in _read(page(contract.model_copy(update={"cells": agreeing}))).text


def test_rows_and_domains_of_persons_are_said(contract: Generalizations) -> None:
    learned = [each.model_copy(update={"learned": each.name == "income"}) for each in contract.attributes]
    text = _read(page(contract.model_copy(update={"representative": "row", "attributes": learned}))).text
    assert "a person's actual row" in text
    assert "no schema declares them: Income of a year (EUR)" in text
    assert "those the schema declares" in _read(page(contract)).text
