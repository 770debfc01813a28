"""One minimisation from end to end, with a search of the test's own."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.data.table import Table
from components.minimization import contract
from components.minimization.asking import Asked, Told
from components.minimization.bounds import lower_bound
from components.minimization.declarations import Greedy, Minimization, Personal
from components.minimization.declarations import Tree as TreeSearch
from components.minimization.generalizer import Cells, Generalizer, Ranges
from components.minimization.holdout import Sides, hold_out
from components.minimization.minimise import Outcome, minimise
from components.minimization.partitions import Partition, middle
from components.minimization.problem import Problem
from components.minimization.result import Found
from components.minimization.verdicts import judge
from components.models import CallableModel, Model, build, utility
from components.models.declarations import Tree
from components.registry import load
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault

People = Callable[[int, int], pd.DataFrame]
COLUMNS = ["age", "income", "region", "zip"]
SEEN: list[Problem] = []


def search(params: Greedy, problem: Problem) -> Found:
    """Cut numbers in the middle of their domain, leave all else as it is; note what it was given."""
    SEEN.append(problem)
    ranges = []
    for each in problem.attributes:
        if each.kind != "number":
            ranges.append(Ranges(each, None, np.array([]), 0.0))
            continue
        half = each.low + (each.high - each.low) / 2
        standing = np.array([middle(each, -np.inf, half), middle(each, half, np.inf)])
        ranges.append(Ranges(each, Partition(each, cuts=(half,)), standing, standing[0]))
    steps = pd.DataFrame({"step": [0], "taken": [True]})
    return Found(Generalizer("halves", "ranges", tuple(ranges), outside=params.outside), ("halved",), steps)


@pytest.fixture(autouse=True)
def own_search(monkeypatch: pytest.MonkeyPatch) -> None:
    SEEN.clear()
    monkeypatch.setattr("components.minimization.minimise.load", lambda _: search)


@pytest.fixture(scope="module")
def parts(people_schema: DatasetSchema, people: People) -> tuple[Table, Table]:
    frame = people(1000, 5)
    return Table(frame.iloc[:600], people_schema), Table(frame.iloc[600:], people_schema)


@pytest.fixture(scope="module")
def model(people_schema: DatasetSchema, parts: tuple[Table, Table]) -> Model:
    return build(Tree(), people_schema, 0).fit(parts[0])


@pytest.fixture
def asked(model: Model, people_schema: DatasetSchema) -> Asked:
    return Asked(model, people_schema)


def sides_of(parts: tuple[Table, Table], **more: Any) -> Sides:
    return hold_out(Greedy(**more), *parts, seed=0)


def outcome_of(asked: Asked, parts: tuple[Table, Table], target: float = 0.5, **more: Any) -> Outcome:
    params = Greedy(columns=COLUMNS, **more)
    return minimise(params, asked, hold_out(params, *parts, seed=0), target, 0)


def test_a_search_sees_fit_and_calibration_rows_and_no_report_row(asked: Asked, parts: tuple[Table, Table]) -> None:
    sides = sides_of(parts)
    minimise(Greedy(columns=COLUMNS), asked, sides, 0.5, 0)
    (problem,) = SEEN
    assert problem.fit.frame.index.equals(sides.fit.frame.index)
    assert problem.calibration.frame.index.equals(sides.calibration.frame.index)
    assert problem.report_rows == len(sides.report.frame)
    assert [each.name for each in problem.attributes] == COLUMNS


def test_the_verdict_is_counted_by_hand(asked: Asked, model: Model, parts: tuple[Table, Table]) -> None:
    report = sides_of(parts).report.frame
    found = outcome_of(asked, parts)
    generalised = found.told.minimized.transform(report)  # type: ignore[attr-defined]
    kept = int((model.predict(report) == model.predict(generalised)).sum())
    assert 0 < kept < len(report)
    assert found.verdict.agreement == kept / len(report)
    assert found.verdict.low == lower_bound(kept, len(report))
    assert (found.verdict.rows, found.verdict.met) == (200, True)
    assert found.notes == ("halved",)


def test_what_is_not_shown_is_told_with_the_best_that_was_reached(asked: Asked, parts: tuple[Table, Table]) -> None:
    found = outcome_of(asked, parts, target=0.999)
    assert not found.verdict.met
    fault = found.shortfall(Greedy())
    assert fault is not None
    assert fault.place == "minimization.target"
    for figure in (found.verdict.agreement, found.verdict.low):
        assert f"{figure:.4f}" in fault.problem
    assert "200 report rows" in fault.problem
    other = found.shortfall(Personal())
    assert other is not None
    assert other.place == "minimization.delta"
    assert outcome_of(asked, parts).shortfall(Greedy()) is None


def test_a_bound_that_equals_the_target_is_enough(asked: Asked, parts: tuple[Table, Table]) -> None:
    low = outcome_of(asked, parts).verdict.low
    assert outcome_of(asked, parts, target=low).verdict.met
    assert not outcome_of(asked, parts, target=float(np.nextafter(low, 1))).verdict.met


def test_what_is_written_agrees_on_fresh_rows_as_was_measured(
    asked: Asked, model: Model, parts: tuple[Table, Table], people: People, tmp_path: Path
) -> None:
    found = outcome_of(asked, parts)
    contract.write(tmp_path / "generalizations.json", found.contract)
    loaded = contract.load(tmp_path / "generalizations.json")
    assert isinstance(loaded, Generalizer)
    report = sides_of(parts).report.frame
    told = model.predict(loaded.transform(report))
    assert (told == model.predict(report)).mean() == found.verdict.agreement
    fresh = people(50, 77)
    np.testing.assert_array_equal(found.told.predict(fresh), model.predict(loaded.transform(fresh)))


def test_rows_in_another_order_give_the_same_bytes(asked: Asked, parts: tuple[Table, Table]) -> None:
    mixed = tuple(Table(part.frame.sample(frac=1, random_state=8), part.schema) for part in parts)
    first, second = outcome_of(asked, parts), outcome_of(asked, mixed)  # type: ignore[arg-type]
    assert contract.dumps(first.contract) == contract.dumps(second.contract)
    pd.testing.assert_frame_equal(first.necessity, second.necessity)
    pd.testing.assert_frame_equal(first.subgroups, second.subgroups)


def test_nobodys_frame_is_written_to(asked: Asked, parts: tuple[Table, Table]) -> None:
    before = [part.frame.copy() for part in parts]
    outcome_of(asked, parts)
    for part, frame in zip(parts, before, strict=True):
        pd.testing.assert_frame_equal(part.frame, frame)


def test_sensitivities_of_the_schema_weigh(
    model: Model, people_schema: DatasetSchema, parts: tuple[Table, Table]
) -> None:
    weights = {"age": 3.0, "house_rent": 5.0}
    columns = [
        column.model_copy(update={"sensitivity": weights.get(column.name, 1.0)}) for column in people_schema.columns
    ]
    schema = people_schema.model_copy(update={"columns": columns})
    params = Greedy(columns=["age", "region", "house_own", "house_rent", "house_free"])
    minimise(params, Asked(model, schema), sides_of(parts), 0.5, 0)
    assert SEEN[0].weights == {"age": 3.0, "region": 1.0, "house": 5.0}


@pytest.fixture
def pricing(people_schema: DatasetSchema, parts: tuple[Table, Table]) -> Asked:
    columns = [column for column in people_schema.columns if column.name != "outcome"]
    schema = people_schema.model_copy(update={"columns": columns, "target": "income", "task": "regression"})
    return Asked(build(Tree(), schema, 0).fit(Table(parts[0].frame, schema)), schema)


def test_a_regression_is_judged_by_r2_and_its_bootstrap(pricing: Asked, parts: tuple[Table, Table]) -> None:
    found = minimise(Greedy(columns=["age", "height"]), pricing, sides_of(parts), 0.01, 0)
    assert found.verdict.measure == "r2"
    assert found.verdict.low < found.verdict.agreement < 1
    same = np.arange(40.0)[:, np.newaxis]
    perfect = judge(same, same, replace(SEEN[0], target=0.99))
    assert (perfect.agreement, perfect.low, perfect.met) == (1.0, 1.0, True)


def test_actual_rows_make_the_file_raw(
    asked: Asked, parts: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_rows(params: Greedy, problem: Problem) -> Found:
        found = search(params, problem)
        assert isinstance(found.minimized, Generalizer)
        return replace(found, minimized=replace(found.minimized, representative="row"))

    assert not outcome_of(asked, parts).raw
    monkeypatch.setattr("components.minimization.minimise.load", lambda _: with_rows)
    assert outcome_of(asked, parts).raw


def test_domains_from_rows_make_the_file_raw(people_schema: DatasetSchema, parts: tuple[Table, Table]) -> None:
    columns = [
        column.model_copy(update={"min": None, "max": None}) if column.name == "income" else column
        for column in people_schema.columns
    ]
    schema = people_schema.model_copy(update={"columns": columns})
    train, test = (Table(part.frame, schema) for part in parts)
    asked = Asked(build(Tree(), schema, 0, learn=True).fit(train), schema)
    params = Greedy(columns=COLUMNS)
    found = minimise(params, asked, hold_out(params, train, test, seed=0), 0.5, 0, learn=True)
    assert found.raw
    income = next(each for each in found.contract.attributes if each.name == "income")
    assert income.learned


class Stored:
    """A model that knows the answers to some rows, by their index, and to no other."""

    trains, known_only, learned, notes = False, True, (), ()

    def __init__(self, model: Model, frame: pd.DataFrame) -> None:
        self.targets = model.targets
        self.frame = frame
        self.known = pd.Series(model.predict(frame), index=frame.index)

    def predict(self, frame: pd.DataFrame) -> Any:
        pd.testing.assert_frame_equal(frame, self.frame.loc[frame.index])
        return self.known.loc[frame.index].to_numpy()


def test_a_model_of_known_rows_is_asked_about_no_other(
    model: Model, people_schema: DatasetSchema, parts: tuple[Table, Table]
) -> None:
    stored: Any = Stored(model, pd.concat([part.frame for part in parts]))
    found = outcome_of(Asked(stored, people_schema), parts)
    assert "forest" in found.notes[0]
    report = sides_of(parts).report.frame
    agreed = (found.told.predict(report) == stored.predict(report)).mean()
    assert found.verdict.agreement == agreed


def _by_place(frame: pd.DataFrame) -> Any:
    return np.where(np.arange(len(frame)) % 2, "ill", "well")


def _by_label(frame: pd.DataFrame) -> Any:
    return np.where(frame.index.to_numpy() % 2, "ill", "well")


def _by_others(frame: pd.DataFrame) -> Any:
    return np.where(frame["income"] > frame["income"].mean(), "ill", "well")


def _by_chance(frame: pd.DataFrame) -> Any:
    return np.random.default_rng().choice(["well", "ill"], len(frame))


def _by_few_others(frame: pd.DataFrame) -> Any:
    """Follow the rows beside it only where these are few, as a model that normalises batches may."""
    level = frame["income"].mean() if len(frame) < 20 else 27_000
    return np.where(frame["income"] > level, "ill", "well")


def _by_likes(frame: pd.DataFrame) -> Any:
    """Follow the rows beside it only where these differ much from all rows."""
    middle = frame["income"].median()
    lopsided = len(frame) > 20 and not 20_000 < middle < 30_000
    return np.where(frame["income"] > (middle if lopsided else 27_000), "ill", "well")


@pytest.mark.parametrize("function", [_by_place, _by_label, _by_others, _by_chance, _by_few_others, _by_likes])
def test_answers_that_hang_on_more_than_the_row_are_refused_by_count(
    people_schema: DatasetSchema, parts: tuple[Table, Table], function: Callable[[pd.DataFrame], Any]
) -> None:
    asked = Asked(CallableModel(function, people_schema), people_schema)
    told = r"^model: [1-9]\d* of 300 rows get another answer when they are asked about again in another order"
    with pytest.raises(ConfigurationError, match=told):
        outcome_of(asked, parts)
    assert not SEEN  # nothing was searched


@pytest.mark.parametrize(("scale", "refused"), [(0.0, False), (1e-6, False), (1e-2, True)])
def test_numbers_may_differ_by_rounding_alone(
    pricing: Asked, parts: tuple[Table, Table], scale: float, *, refused: bool
) -> None:
    def price(frame: pd.DataFrame) -> Any:
        told = frame["age"].to_numpy(dtype=np.float64) - 50  # some are 0
        return told + scale * told.std() * np.sin(np.arange(len(frame)))

    asked = Asked(CallableModel(price, pricing.schema), pricing.schema)
    params = Greedy(columns=["age"])
    with pytest.raises(ConfigurationError, match="rows get another answer") if refused else nullcontext():
        minimise(params, asked, sides_of(parts), 0.01, 0)


def test_the_error_of_a_stand_in_is_not_told_as_need(
    model: Model, people_schema: DatasetSchema, parts: tuple[Table, Table]
) -> None:
    """The forest that stands in for stored predictions is compared with itself: a constant column changes nothing."""
    stored: Any = Stored(model, pd.concat([part.frame for part in parts]))
    params = Greedy(columns=[*COLUMNS, "one"])
    found = minimise(params, Asked(stored, people_schema), hold_out(params, *parts, seed=0), 0.5, 0)
    assert "(1.0000 when all is collected)" not in found.notes[0]
    assert found.necessity.set_index("attribute")["changed"]["one"] == 0


def test_a_regression_tells_no_exact_mean_of_a_cell(
    pricing: Asked, parts: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_cells(params: Greedy, problem: Problem) -> Found:
        found = search(params, problem)
        assert isinstance(found.minimized, Generalizer)
        ranges = found.minimized.ranges
        everywhere = {each.attribute.name: np.ones((1, 2), dtype=bool) for each in ranges}
        standing = {each.attribute.name: each.representatives[:1] for each in ranges}
        cells = Cells(everywhere, standing, np.array([True]), np.array([[27_123.456]]))
        return replace(found, minimized=replace(found.minimized, use="representatives", cells=cells))

    monkeypatch.setattr("components.minimization.minimise.load", lambda _: with_cells)
    found = minimise(Greedy(columns=["age", "height"]), pricing, sides_of(parts), 0.01, 0)
    (cell,) = found.contract.cells
    assert cell.label == [27_100.0]
    assert set(found.ncp.values()) == {1.0}  # one cell tells nothing; what is asked by tells half of a number
    assert found.asked_ncp == pytest.approx({"age": 0.5, "height": 0.5}, abs=0.01)


def test_parts_of_a_few_rows_make_the_file_raw(asked: Asked, parts: tuple[Table, Table]) -> None:
    assert outcome_of(asked, parts, min_rows=4).raw
    assert not outcome_of(asked, parts, min_rows=5).raw


def test_persons_with_several_rows_are_told_of(
    model: Model, people_schema: DatasetSchema, parts: tuple[Table, Table]
) -> None:
    who = people_schema.columns[0].model_copy(update={"name": "who", "role": "identifier", "dtype": "text"})
    schema = people_schema.model_copy(update={"columns": [*people_schema.columns, who], "subject_id": "who"})
    named = [
        Table(part.frame.assign(who=pd.array([f"p{n // 2}" for n in range(len(part.frame))], dtype="string")), schema)
        for part in parts
    ]
    params = Greedy(columns=COLUMNS)
    found = minimise(params, Asked(model, schema), hold_out(params, *named, seed=0), 0.5, 0)
    assert found.notes[0].startswith("the 200 report rows are of 100 persons, and the bound takes rows as independent")


@pytest.mark.parametrize("method", [TreeSearch(), Greedy(), Personal()])
def test_a_range_that_one_person_fills_makes_the_file_raw(
    people_schema: DatasetSchema, people: People, monkeypatch: pytest.MonkeyPatch, method: Minimization
) -> None:
    """Above 60 the model goes by age alone, and all who are older are one person with many rows."""
    monkeypatch.setattr("components.minimization.minimise.load", load)
    who = people_schema.columns[0].model_copy(update={"name": "who", "role": "identifier", "dtype": "text"})
    schema = people_schema.model_copy(update={"columns": [*people_schema.columns, who], "subject_id": "who"})

    def rule(frame: pd.DataFrame) -> Any:
        return np.where((frame["age"] > 60) | (frame["income"] > 40_000), "ill", "well")

    asked = Asked(CallableModel(rule, schema), schema)
    frame = people(2000, 3)
    params = method.model_copy(update={"columns": ["age", "income"]})
    raw = []
    for several in (False, True):
        ids = [f"p{0 if several and age > 60 else number}" for number, age in enumerate(frame["age"])]
        told = frame.assign(who=pd.array(ids, dtype="string"))
        train, test = Table(told.iloc[:1200], schema), Table(told.iloc[1200:], schema)
        raw.append(minimise(params, asked, hold_out(params, train, test, seed=0), 0.8, 0).raw)
    assert raw[0] == ()
    assert len(raw[1]) == 1
    assert "rest on fewer than 5 persons" in raw[1][0]


def test_the_told_model_is_measured_as_any_other(asked: Asked, model: Model, parts: tuple[Table, Table]) -> None:
    told: Any = outcome_of(asked, parts).told
    assert isinstance(told, Told)
    figures = {figure.metric: figure.value for figure in utility(told, parts[1])}
    own = {figure.metric: figure.value for figure in utility(model, parts[1])}
    assert figures.keys() == own.keys()
    assert figures["auc"] is not None
    assert figures != own


def test_values_that_a_hierarchy_lacks_are_told_without_rows(asked: Asked, parts: tuple[Table, Table]) -> None:
    def seen(table: Table) -> Table:
        if SEEN:  # the search is over: rows are generalised by now
            raise DataError(Fault("column 'age'", "1 of 4 values uncovered, 1 of 6 rows (data row 3)"))
        return table

    with pytest.raises(DataError) as caught:
        outcome_of(replace(asked, seen=seen), parts)
    (fault,) = caught.value.faults
    assert fault.place == "column 'age'"
    assert "row" not in str(fault)
    assert "hierarchy" in fault.problem


def test_cells_that_leave_everything_to_be_asked_are_said_to(
    monkeypatch: pytest.MonkeyPatch, asked: Asked, parts: tuple[Table, Table]
) -> None:
    """Regions are told apart as they are, and then put into two cells."""

    def in_cells(params: Greedy, problem: Problem) -> Found:
        (region,) = problem.attributes
        size = len(region.values)
        apart = Partition(region, groups=(*range(size), 0))
        first = np.arange(size) < 1
        cells = Cells(
            {"region": np.stack([first, ~first])},
            {"region": np.array([0.0, 1.0])},
            np.ones(2, dtype=np.bool_),
            np.zeros((2, 1)),
        )
        ranges = Ranges(region, apart, np.arange(size, dtype=np.float64), 0.0)
        steps = pd.DataFrame({"step": [0], "taken": [True]})
        return Found(Generalizer("two", params.use, (ranges,), cells), (), steps)

    monkeypatch.setattr("components.minimization.minimise.load", lambda _: in_cells)
    for use, said in (("representatives", True), ("ranges", False)):
        params = Greedy(columns=["region"], use=use)  # type: ignore[arg-type]
        found = minimise(params, asked, hold_out(params, *parts, seed=0), 0.5, 0)
        assert any("asked for everything as it is" in note for note in found.notes) == said
        assert found.asked_ncp == {"region": 0.0}
        assert (found.ncp["region"] > 0) == said
