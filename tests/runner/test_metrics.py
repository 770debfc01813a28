import csv
import io
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from runner.metrics import in_order, metrics_csv
from schemas.tables import METRIC_COLUMNS, METRICS, Metric

HEADER = "stage,metric,scope,column,split,when,value,low,high,unit\n"


def test_no_figures_give_the_header_alone():
    assert metrics_csv([]).decode() == HEADER
    assert ",".join(METRIC_COLUMNS) + "\n" == HEADER


def test_rows_stand_in_the_order_of_a_run_whatever_order_they_came_in():
    rows = [
        Metric(stage="model", metric="accuracy", scope="original", split="test", value=0.8, low=0.75, high=0.85),
        Metric(stage="anonymization", metric="t", column="diagnosis, main", when="after", value=0.1),
        Metric(stage="anonymization", metric="k", when="after", value=10),
        Metric(stage="anonymization", metric="k", when="before", value=1, unit="rows"),
        Metric(stage="model", metric="auc", value=None),
    ]
    assert metrics_csv(rows).decode() == HEADER + (
        "anonymization,k,,,,before,1,,,rows\n"
        "anonymization,k,,,,after,10,,,\n"
        'anonymization,t,,"diagnosis, main",,after,0.1,,,\n'
        "model,accuracy,original,,test,,0.8,0.75,0.85,\n"
        "model,auc,,,,,,,,\n"
    )
    assert metrics_csv(rows) == metrics_csv(rows[::-1])


@given(st.floats())
def test_a_number_reads_back_to_the_same_double(value: float):
    written = metrics_csv([Metric(stage="model", metric="r2", value=value)]).decode()
    read = float(next(csv.DictReader(io.StringIO(written)))["value"])
    assert read == value or (math.isnan(read) and math.isnan(value))


def test_two_figures_of_one_place_are_refused():
    row = Metric(stage="model", metric="r2", value=1)
    with pytest.raises(ValueError, match="two figures have the same"):
        in_order([row, row.model_copy(update={"value": 2.0})])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"metric": "acuracy"}, "did you mean accuracy?"),
        ({"stage": "modell"}, "did you mean model?"),
        ({"metric": "epsilon"}, "is no metric of stage model"),
        ({"scope": "raw"}, "scope"),
        ({"scope": "client:"}, "scope"),
        ({"split": "validation"}, "split"),
        ({"when": "during"}, "when"),
        ({"value": True}, "value"),
        ({"value": "0.5"}, "value"),
    ],
)
def test_names_outside_the_vocabulary_are_refused(change: dict[str, Any], told: str):
    good = {"stage": "model", "metric": "accuracy", "value": 0.5}
    Metric.model_validate(good)
    with pytest.raises(ValidationError, match=told):
        Metric.model_validate(good | change)


def test_the_words_for_what_json_lacks_are_read_as_numbers():
    words = {"infinite": math.inf, "-infinite": -math.inf}
    for word, number in words.items():
        assert Metric.model_validate({"stage": "dp", "metric": "epsilon", "value": word}).value == number


def test_the_names_that_outsiders_read_are_in_the_vocabulary():
    assert {"k", "classes", "l_distinct", "l_entropy", "t", "t_released", "suppressed_share", "arirec"} <= set(
        METRICS["anonymization"]
    )
    assert {"accuracy", "balanced_accuracy", "auc", "f1", "mae", "mre", "rmse", "r2"} == set(METRICS["model"])
