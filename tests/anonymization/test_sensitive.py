from collections.abc import Callable

import numpy as np

from components.anonymization.criteria.sensitive import rows_of, table_counts
from components.data.table import Table

Make = Callable[..., Table]


def test_values_are_numbered_over_the_rows_and_the_whole_table(make: Make):
    table = make({"age": [1, 2, 3, 4], "cost": [5.0, 1.0, 2.0, 5.0], "disease": ["flu", None, "angina", "flu"]})
    found = rows_of(table.frame.iloc[[0, 1]], table.schema, table.frame).values
    assert (found["cost"].codes.tolist(), found["cost"].in_table.tolist()) == ([2, 0], [1, 1, 2])
    assert found["cost"].table.tolist() == [0.25, 0.25, 0.5]
    assert (found["disease"].codes.tolist(), found["disease"].known.tolist()) == ([0, 2], [0, -1])
    assert found["disease"].size == 3


def test_the_counts_of_the_table_say_which_values_a_release_holds_and_no_value(make: Make):
    table = make({"age": [1, 2, 3, 4], "cost": [5.0, 1.0, 2.0, 5.0], "disease": ["flu", None, "angina", "flu"]})
    counts = table_counts(table.frame.iloc[[0, 1]], table.schema, table.frame)
    assert counts.to_numpy().tolist() == [
        ["cost", 0, False, 1, 1],
        ["cost", 1, False, 1, 0],
        ["cost", 2, False, 2, 1],
        ["disease", 0, False, 2, 1],
        ["disease", 1, False, 1, 0],
        ["disease", 2, True, 1, 1],
    ]
    assert counts.columns.tolist() == ["column", "rank", "missing", "rows", "released"]
    assert not len(table_counts(table.frame[["age"]], table.schema, table.frame))


def test_each_person_stands_for_as_many_as_the_sample_is_a_part_of(make: Make):
    cells = {"person": ["a", "a", "b"], "age": [1, 2, 3]}
    assert rows_of((one := make(cells)).frame, one.schema).each_stands_for is None
    assert rows_of((one := make(cells, population={"size": 30})).frame, one.schema).each_stands_for == 10
    named = make(cells, subject_id="person", population={"size": 30})
    assert rows_of(named.frame, named.schema).each_stands_for == 15
    released = named.frame.drop(columns="person")
    assert rows_of(released, named.schema, named.frame, ["a", "a", "b"]).each_stands_for == 15
    counted = make(cells, population={"size": 30, "path": "all.csv"})
    assert rows_of(counted.frame, counted.schema, fitting=np.array([1, 2, 3])).each_stands_for is None


def test_every_target_counts_as_sensitive(make: Make):
    table = make({"age": [1, 2], "cost": [5.0, 1.0], "disease": ["flu", "angina"]})
    columns = [column.model_copy(update={"role": "insensitive"}) for column in table.schema.columns]
    schema = table.schema.model_copy(update={"columns": columns, "target": ["cost", "disease"]})
    assert list(rows_of(table.frame, schema, table.frame).values) == ["cost", "disease"]
    assert list(rows_of(table.frame, schema.of_target("disease"), table.frame).values) == ["disease"]
