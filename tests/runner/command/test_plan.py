from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.data import Header, Table, split
from runner.plan import asked_k, check_level2, require_level2, train_rows
from runner.plan_minimization import aim_of
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, GoalError

Do = Callable[..., Any]
NAMES = ("age", "sex", "ward", "cured")


@pytest.fixture
def tree(mine: Any) -> Any:
    return mine.compose("model=tree")


def places(composed: Any, header: Header) -> list[str]:
    return [fault.place for fault in check_level2(composed, header)]


def test_a_table_that_fits_has_no_fault(tree: Any) -> None:
    assert check_level2(tree, Header(NAMES, 100)) == []
    require_level2(tree, Header(NAMES, 100))


def test_columns_that_either_side_lacks_are_named_with_the_nearest(tree: Any) -> None:
    header = Header(("agee", *NAMES[1:], "extra"), 100)
    lacking, unknown = check_level2(tree, header)
    assert (lacking.place, lacking.allowed) == ("column 'age'", "there is 'agee'")
    assert "'agee' (not in the schema), 'extra' (not in the schema)" in unknown.problem
    with pytest.raises(DataError):
        require_level2(tree, header)


def test_unknown_columns_are_no_fault_where_they_are_dropped(mine: Any) -> None:
    assert places(mine.compose("model=tree", "dataset.undeclared=drop"), Header((*NAMES, "extra"), 100)) == []


def test_a_column_to_be_dropped_may_be_absent(mine: Any) -> None:
    composed = mine.compose("model=tree", "+dataset.columns.n.dtype=text", "+dataset.columns.n.role=drop")
    assert places(composed, Header(NAMES, 100)) == []


def test_a_k_that_no_class_can_reach_is_a_goal_that_is_missed(mine: Any) -> None:
    composed = mine.compose("model=tree", "anonymization.k=8")
    (fault,) = check_level2(composed, Header(NAMES, 7))
    assert fault.problem == "k=8 but 7 rows"
    assert (fault.place, fault.source) == ("anonymization.k", "anonymization.k=8")
    with pytest.raises(GoalError):
        require_level2(composed, Header(NAMES, 7))


def test_held_out_rows_do_not_count(mine: Any) -> None:
    composed = mine.compose("model=tree", "anonymization.k=8", "dataset.split.test=0.5")
    (fault,) = check_level2(composed, Header(NAMES, 14))
    assert fault.problem == "k=8 but only 7 of 14 rows are left to train on"
    assert check_level2(composed, Header(NAMES, 16)) == []


def test_no_rows_are_a_fault_of_the_data(tree: Any) -> None:
    (fault,) = check_level2(tree, Header(NAMES, 0))
    assert fault.problem == "0 rows; k undefined"


def test_a_k_in_the_criteria_is_the_one_that_is_asked_for(mine: Any) -> None:
    composed = mine.compose("anonymization.criteria=[{name: k, k: 9}]")
    assert asked_k(composed.config.anonymization) == (9, "anonymization.criteria.0.k")
    assert asked_k(mine.compose("anonymization=none").config.anonymization) == (None, "anonymization.k")


@pytest.mark.parametrize(("rows", "test", "left"), [(10, 0.3, 7), (2, 0.1, 1), (1, 0.5, 0), (0, 0.5, 0)])
def test_at_least_one_row_is_held_out(rows: int, test: float, left: int) -> None:
    assert train_rows(rows, test) == left


@given(rows=st.integers(2, 60), test=st.floats(0.01, 0.99))
def test_the_plan_counts_train_rows_as_the_split_does(rows: int, test: float) -> None:
    column = {"name": "x", "dtype": "integer", "role": "insensitive"}
    schema = DatasetSchema(name="x", source=None, columns=[column], split={"test": test})
    parts = split(Table(pd.DataFrame({"x": range(rows)}), schema), 0)
    assert train_rows(rows, test) == len(parts.train.frame)


def test_parameters_of_the_estimator_are_checked(mine: Any) -> None:
    composed = mine.compose("model=sklearn", "model.estimator=DecisionTreeClassifier", "model.params.max_dept=3")
    (fault,) = check_level2(composed, Header(NAMES, 100))
    assert (fault.place, fault.source) == ("model.params.max_dept", "model.params.max_dept=3")
    with pytest.raises(ConfigurationError):
        require_level2(composed, Header(NAMES, 100))


def test_faults_of_all_kinds_are_raised_together(mine: Any) -> None:
    composed = mine.compose("model=sklearn", "model.estimator=Nothing", "anonymization.k=50")
    with pytest.raises(ConfigurationError) as caught:
        require_level2(composed, Header(NAMES[1:], 20))
    assert len(caught.value.faults) == 3


def test_a_target_that_the_report_rows_can_not_show_is_a_goal_that_is_missed(mine: Any) -> None:
    composed = mine.compose("model=tree", "minimization=tree", "minimization.target=0.95")
    (fault,) = check_level2(composed, Header(NAMES, 386))
    assert fault.problem == "0.95 can be shown by 59 report rows or more, and there are 58"
    assert (fault.place, fault.source) == ("minimization.target", "minimization.target=0.95")
    with pytest.raises(GoalError):
        require_level2(composed, Header(NAMES, 386))
    assert check_level2(composed, Header(NAMES, 394)) == []


@pytest.mark.parametrize("method", ["tree", "greedy", "personal"])
def test_more_rows_in_a_part_than_there_are_is_a_goal_that_is_missed(mine: Any, method: str) -> None:
    composed = mine.compose("model=tree", f"minimization={method}", "minimization.min_rows=701")
    (fault,) = check_level2(composed, Header(NAMES, 1000))
    assert (fault.place, fault.source) == ("minimization.min_rows", "minimization.min_rows=701")
    assert fault.problem == "701 fit rows are asked for in every part, and there are 700"
    with pytest.raises(GoalError):
        require_level2(composed, Header(NAMES, 1000))
    assert check_level2(composed, Header(NAMES, 1001)) == []


def test_the_rows_that_are_searched_on_bound_those_of_a_part(mine: Any) -> None:
    typed = ("model=tree", "minimization=tree", "minimization.search_rows=100", "minimization.min_rows=101")
    (fault,) = check_level2(mine.compose(*typed), Header(NAMES, 1000))
    assert "minimization.search_rows" in fault.remedy
    faults = check_level2(mine.compose(*typed, "minimization.target=0.999"), Header(NAMES, 1000))
    assert [fault.place for fault in faults] == ["minimization.target", "minimization.min_rows"]
    assert check_level2(mine.compose(*typed[:1], "minimization=none"), Header(NAMES, 1000)) == []


def test_rows_of_a_part_are_left_for_the_run_to_count_where_rows_are_of_persons(mine: Any) -> None:
    mine.vary("target: cured", "  who: {dtype: text, role: identifier}\nsubject_id: who\ntarget: cured")
    composed = mine.compose("model=tree", "minimization=tree", "minimization.min_rows=701")
    assert check_level2(composed, Header((*NAMES, "who"), 1000)) == []  # as many as 999 could be train rows
    assert places(composed, Header((*NAMES, "who"), 701)) == ["minimization.min_rows"]


def test_a_plan_says_what_it_takes_to_end_an_asking_early(mine: Any) -> None:
    composed = mine.compose("model=tree", "minimization=personal")
    assert str(aim_of(composed, 400)).endswith("; 59 calibration rows or more can end somebody's asking early")
    stingy = mine.compose("model=tree", "minimization=personal", "minimization.calibration_share=0.4")
    said = str(aim_of(stingy, 400))  # 48 calibration rows
    assert said.endswith("can end somebody's asking early, with fewer nobody's does")
    strict = mine.compose("model=tree", "minimization=personal", "minimization.delta=0.01")
    assert "; 299 calibration rows or more" in str(aim_of(strict, 4000))
    assert "early" not in str(aim_of(mine.compose("model=tree", "minimization=tree"), 400))


def test_an_importance_by_a_library_that_is_absent_is_told_before_any_work(
    mine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed = mine.compose("model=tree", "minimization=greedy", "minimization.order=shap")
    monkeypatch.setattr("runner.plan_minimization.find_spec", lambda _: None)
    (fault,) = check_level2(composed, Header(NAMES, 1000))
    assert (fault.place, fault.problem) == ("minimization.order", "shap is not installed")
    monkeypatch.setattr("runner.plan_minimization.find_spec", lambda _: object())
    assert check_level2(composed, Header(NAMES, 1000)) == []


def test_rows_of_persons_are_left_for_the_run_to_count(mine: Any) -> None:
    mine.vary("target: cured", "  who: {dtype: text, role: identifier}\nsubject_id: who\ntarget: cured")
    composed = mine.compose("model=tree", "minimization=tree", "minimization.target=0.95")
    names = (*NAMES, "who")
    assert check_level2(composed, Header(names, 120)) == []  # 119 of them could be held out
    assert places(composed, Header(names, 110)) == ["minimization.target"]


def test_rows_of_persons_are_estimated_by_the_share_that_is_held_out(mine: Any) -> None:
    mine.vary("target: cured", "  who: {dtype: text, role: identifier}\nsubject_id: who\ntarget: cured")
    composed = mine.compose("model=tree", "minimization=tree", "minimization.target=0.95")
    aim = str(aim_of(composed, 6000))
    assert "of the test rows about 900 say where to stop and 900 judge, if each row is a person; agreement 0.95" in aim
    assert "the run counts persons, and may find too few rows" in aim
    assert "and 18 judge" in str(aim_of(composed, 120))  # too few, if each row is a person: the run will say


@pytest.fixture
def toy_rows(tmp_path: Path) -> Path:
    file = tmp_path / "toy.csv"
    file.write_text("age,sex,ward,cured\n" + "ZZ-CANARY-7731,f,a,yes\n" * 20)
    return file


def test_a_plan_says_what_would_happen_and_writes_nothing(command: Do, toy_rows: Path, tmp_path: Path) -> None:
    ended = command("plan", "model=tree", "anonymization.k=4")
    assert (ended.code, ended.err) == (0, "")
    for part in ("20 rows", "age, sex", "guided (k=4", "tree (max_depth=null", "at most 3 classes", str(tmp_path)):
        assert part in " ".join(ended.out.split())
    assert "CANARY" not in ended.out
    assert {path.name for path in tmp_path.iterdir()} == {"options", toy_rows.name}


def test_a_plan_tells_its_stages_in_order_and_what_it_skips(command: Do, toy_rows: Path) -> None:
    assert toy_rows.exists()
    ended = command("plan", "anonymization=none", "model=tree", "minimization=none")
    firsts = [line.split()[:2] for line in ended.out.splitlines() if line[:1].isdigit()]
    assert firsts == [["1", "dataset"], ["2", "split"], ["3", "model"], ["4", "assessment"]]
    assert "anonymization, minimization, federation, dp, risk" in ended.out


def test_a_plan_says_what_a_minimisation_works_on_and_what_its_target_needs(command: Do, toy_rows: Path) -> None:
    toy_rows.write_text("age,sex,ward,cured\n" + "40,f,a,yes\n" * 1000)
    ended = command("plan", "model=tree", "minimization=tree", "minimization.search_rows=500")
    assert ended.code == 0, ended.err
    said = " ".join(ended.out.split())
    assert "6 minimization tree (columns=null" in said
    assert "on at most 500 train rows; of the test rows about 150 say where to stop and 150 judge" in said
    assert "agreement 0.9 asked, which 29 report rows or more can show" in said
    assert "minimization/ (what to ask, and how that was found)" in said
    assert "skipped federation, dp, risk" in said


def test_a_plan_neither_fits_nor_retrains_a_model_that_comes_trained(
    command: Do, toy_rows: Path, tmp_path: Path
) -> None:
    assert toy_rows.exists()
    (tmp_path / "score.py").write_text("def predict(frame):\n    return frame['ward']\n")
    ended = command("plan", "model=callable", "model.path=score.py")
    assert ended.code == 0, ended.err
    firsts = [line.split()[1] for line in ended.out.splitlines() if line[:1].isdigit()]
    assert firsts == ["dataset", "split", "model", "anonymization", "assessment"]
    assert "comes trained" in " ".join(ended.out.split())


def test_a_plan_tells_what_a_model_that_comes_trained_lacks(command: Do, toy_rows: Path, tmp_path: Path) -> None:
    assert toy_rows.exists()
    (tmp_path / "said.csv").write_text("ward,chance\na,yes\n")
    ended = command("plan", "model=predictions", "model.path=said.csv", "model.key=sex", "model.column=said")
    assert ended.code == 2
    assert "model.column (model.column=said): file 'said.csv' has no column 'said'" in ended.err
    assert "model.key (model.key=sex): file 'said.csv' has no column 'sex'" in ended.err
    (tmp_path / "score.py").write_text("raise SystemExit\ndef score(frame): ...")
    ended = command("plan", "model=callable", "model.path=score.py")
    assert ended.code == 2
    assert "'score.py' has no function predict" in ended.err
    assert command("plan", "model=callable", "model.path=score.py", "model.function=score").code == 0


@pytest.mark.parametrize("verb", [("plan",), ()])
def test_stored_predictions_of_no_row_are_a_fault_of_the_data_told_before_any_work(
    command: Do, toy_rows: Path, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    assert toy_rows.exists()
    (tmp_path / "said.csv").write_text("sex,said\n")
    ended = command(*verb, "model=predictions", "model.path=said.csv", "model.key=sex", "model.column=said")
    assert ended.code == 3
    assert "file 'said.csv': 0 rows; at least one row below the header" in ended.err
    assert "undefined" not in ended.err


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        (("model=none", "anonymization=none"), "model, anonymization, minimization (model=none), federation"),
        (("model=tree",), "minimization (3 report rows are too few to aim at an agreement of 0.8; give"),
    ],
)
def test_a_plan_says_why_nothing_will_be_minimised(command: Do, toy_rows: Path, typed: Any, why: str) -> None:
    assert toy_rows.exists()
    ended = command("plan", *typed)
    assert ended.code == 0, ended.err
    assert f"skipped {why}" in " ".join(ended.out.split())
    assert "minimization/" not in ended.out


def test_a_plan_hides_passwords(command: Do, mine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mine.vary("{name: csv, path: toy.csv}", "{name: sql, url: 'x://u:p4ssword@h', query: q}")
    monkeypatch.setattr("components.data.header", lambda *_: Header(NAMES, 50), raising=False)
    ended = command("plan", "model=tree", "dataset.source.url=x://u:p4ssword@h")
    assert ended.code == 0
    assert "x://u:***@h" in ended.out
    assert "p4ssword" not in ended.out + ended.err


def test_a_plan_of_a_missing_file_fails_as_data(command: Do) -> None:
    ended = command("plan")
    assert ended.code == 3
    assert "toy.csv" in ended.err


def test_a_sweep_is_planned_job_by_job(command: Do, toy_rows: Path, tmp_path: Path) -> None:
    assert toy_rows.exists()
    ended = command("plan", "-m", "model=tree", "anonymization.k=4,90")
    assert ended.code == 4
    assert "at most 3 classes" in " ".join(ended.out.split())
    assert any(line.startswith("job 1: error: anonymization.k") for line in ended.errors)
    assert not (tmp_path / "outputs").exists()
