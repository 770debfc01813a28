"""Agreement by sensitive column, without a figure of a few persons."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.minimization.bounds import lower_bound, upper_bound
from components.minimization.subgroups import MISSING, SMALL, SMALLEST, TOGETHER, subgroups
from schemas.dataset import DatasetSchema

VALUES = ["a", "b", "c", "d", "e"]


def schema_of(**columns: dict[str, Any]) -> DatasetSchema:
    full = {name: {"role": "sensitive", "nullable": True} | column for name, column in columns.items()}
    return DatasetSchema.model_validate({"name": "made", "source": None, "columns": full})


def of_sizes(*sizes: int) -> pd.DataFrame:
    return pd.DataFrame({"ill": pd.Categorical.from_codes(np.repeat(np.arange(len(sizes)), sizes), VALUES)})


ILL = schema_of(ill={"dtype": "category", "values": VALUES})
WHO = {"dtype": "text", "role": "identifier"}
BY_PERSON = schema_of(ill={"dtype": "category", "values": VALUES}, who=WHO).model_copy(update={"subject_id": "who"})


def measured(frame: pd.DataFrame, schema: DatasetSchema, wrong: np.ndarray | None = None) -> pd.DataFrame:
    answers = np.zeros((len(frame), 1), dtype=np.int64)
    now = answers if wrong is None else answers + wrong[:, np.newaxis]
    return subgroups(frame, schema, answers, now)


def test_each_value_has_its_agreement_and_bounds() -> None:
    wrong = np.repeat([0, 1, 0], [38, 2, 60])
    table = measured(of_sizes(40, 60), ILL, wrong)
    assert table["column"].tolist() == ["ill", "ill"]
    assert table["place"].tolist() == [0, 1]
    assert table["value"].tolist() == ["a", "b"]
    assert table["rows"].tolist() == [40, 60]
    assert table["agreement"].tolist() == [0.95, 1]
    assert table["low"].tolist() == pytest.approx([lower_bound(38, 40), lower_bound(60, 60)])
    assert table["high"].tolist() == pytest.approx([upper_bound(38, 40), 1])


@given(sizes=st.lists(st.integers(0, 25), min_size=5, max_size=5))
@settings(max_examples=60, deadline=None)
def test_no_figure_is_of_a_few_and_none_can_be_told_by_subtraction(sizes: list[int]) -> None:
    if not sum(sizes):
        return
    table = measured(of_sizes(*sizes), ILL)
    assert (table["rows"] >= SMALLEST).all()
    hidden = sum(sizes) - table["rows"].sum()
    assert hidden == (0 if sum(sizes) >= SMALLEST else sum(sizes))
    for place, rows in zip(table["place"], table["rows"], strict=True):
        assert place == TOGETHER or rows == sizes[place]


def test_small_groups_take_the_next_larger_one_in_while_they_are_few() -> None:
    table = measured(of_sizes(50, 12, 3, 30), ILL).set_index("value")
    assert table["rows"].to_dict() == {"a": 50, "d": 30, SMALL: 15}
    assert table["place"][SMALL] == TOGETHER


def test_the_rows_of_one_person_are_no_group_of_their_own() -> None:
    """Twelve rows of one person, nine of three persons, and rows of persons that nobody named."""
    who = ["p0"] * 12 + ["p1", "p2", "p3"] * 3 + [None] * 30
    frame = of_sizes(12, 9, 30).assign(who=pd.array(who, dtype="string"))
    assert measured(frame, ILL).set_index("value")["rows"].to_dict() == {"c": 30, SMALL: 21}
    table = measured(frame, BY_PERSON)
    assert table[["value", "rows"]].to_numpy().tolist() == [[SMALL, 51]]
    more = pd.concat([of_sizes(0, 0, 0, 40).assign(who=pd.array([f"q{n}" for n in range(40)], dtype="string")), frame])
    told = measured(more.reset_index(drop=True), BY_PERSON).set_index("value")["rows"]
    assert told.to_dict() == {"d": 40, SMALL: 51}


def test_a_person_in_several_small_groups_counts_once() -> None:
    who = [f"p{n}" for n in range(6)] * 2 + [f"q{n}" for n in range(20)]
    table = measured(of_sizes(6, 6, 20).assign(who=pd.array(who, dtype="string")), BY_PERSON)
    assert table[["value", "rows"]].to_numpy().tolist() == [[SMALL, 32]]


def test_missing_cells_are_a_group() -> None:
    frame = of_sizes(20, 20)
    frame.loc[::2, "ill"] = None
    assert measured(frame, ILL).set_index("value")["rows"].to_dict() == {"a": 10, "b": 10, MISSING: 20}


def test_numbers_and_dates_are_told_by_ranges_of_their_domain() -> None:
    dose = measured(pd.DataFrame({"dose": np.arange(101)}), schema_of(dose={"dtype": "integer", "min": 0, "max": 100}))
    assert dose["value"].tolist() == ["up to 25", "26 to 50", "51 to 75", "76 and more"]
    assert dose["rows"].tolist() == [26, 25, 25, 25]
    days = pd.Series(pd.date_range("2000-01-01", periods=366)).astype("datetime64[us]")
    born = schema_of(born={"dtype": "date", "min": "2000-01-01", "max": "2000-12-31"})
    assert measured(pd.DataFrame({"born": days}), born)["rows"].tolist() == [92, 91, 91, 92]


def test_values_that_the_schema_does_not_declare_are_not_told() -> None:
    schema = schema_of(note={"dtype": "text"}, dose={"dtype": "number"})
    frame = pd.DataFrame({"note": ["canary"] * 20 + ["other"] * 20, "dose": np.linspace(1234.5, 4321.5, 40)})
    table = measured(frame, schema)
    assert set(table["value"]) == {""}
    assert "canary" not in table.to_csv()
    assert "1234" not in table.to_csv()


def test_the_columns_of_a_one_hot_group_are_one() -> None:
    hot = {f"is_{name}": {"dtype": "integer", "min": 0, "max": 1, "group": "ill"} for name in "ab"}
    frame = pd.DataFrame({"is_a": [1] * 20 + [0] * 15, "is_b": [0] * 20 + [1] * 15})
    table = measured(frame, schema_of(**hot))
    assert table[["column", "value", "rows"]].to_numpy().tolist() == [["ill", "is_a", 20], ["ill", "is_b", 15]]


def test_agreement_of_numbers_is_r2_over_all() -> None:
    random = np.random.default_rng(0)
    answers = random.normal(0, 2, (100, 1))
    now = answers + random.normal(0, 0.3, (100, 1))
    table = subgroups(of_sizes(40, 60), ILL, answers, now)
    whole = 1 - ((answers - now) ** 2).sum() / ((answers - answers.mean()) ** 2).sum()
    assert np.average(table["agreement"], weights=table["rows"]) == pytest.approx(whole)
    assert (table["low"] < table["agreement"]).all()
    assert (table["agreement"] < table["high"]).all()


def test_of_several_numbers_a_group_is_told_the_worst() -> None:
    """Each output is off for one of the two groups."""
    random = np.random.default_rng(0)
    answers = random.normal(0, 2, (100, 2))
    now = answers + random.normal(0, 1, (100, 2)) * np.repeat([[1.0, 0.1], [0.1, 1.0]], [40, 60], axis=0)
    told = ["agreement", "low", "high"]
    first, second = (
        subgroups(of_sizes(40, 60), ILL, answers[:, [place]], now[:, [place]])[told].to_numpy() for place in (0, 1)
    )
    table = subgroups(of_sizes(40, 60), ILL, answers, now)[told].to_numpy()
    assert table == pytest.approx(np.array([first[0], second[1]]))


def test_no_sensitive_column_is_no_trouble() -> None:
    schema = DatasetSchema.model_validate(
        {"name": "made", "source": None, "columns": {"x": {"dtype": "integer", "role": "insensitive"}}}
    )
    assert measured(pd.DataFrame({"x": [1, 2]}), schema).empty
    empty = measured(pd.DataFrame({"ill": pd.Categorical([None] * 20, categories=VALUES)}), ILL)
    assert empty.empty
