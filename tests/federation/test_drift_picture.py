"""The picture of the drift checks: the same for the same table, readable, and made without a display."""

import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from components.federation.drift.check import check
from components.federation.drift.declarations import Drift
from components.federation.drift.picture import NAMED, picture
from components.federation.drift.table import table
from components.federation.layout import Layout

LAYOUT = Layout(("w",), ((30,),))


def checks(clients: int, rounds: int, bad: int = 0, params: Drift | None = None, prefix: str = "site") -> list:
    """Return the checks of some rounds in which the first `bad` clients stand apart."""
    draw = np.random.default_rng(0)
    found, streaks = [], {}
    for number in range(1, rounds + 1):
        sets = draw.normal(size=30) + draw.normal(0, 0.05, (clients, 30))
        sets[:bad] *= -1
        one = check(params or Drift(), LAYOUT, [f"{prefix} {i}" for i in range(clients)], sets, streaks=streaks)
        streaks = one.streaks
        found.append((number, one))
    return found


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter() if node.tag.endswith(("}text", "}title"))]  # noqa: S314


def test_the_same_table_gives_the_same_bytes() -> None:
    found = table(checks(10, 4, 2))
    assert picture(found) == picture(found.copy())


def test_flagged_clients_are_named_and_others_are_not() -> None:
    found = texts(picture(table(checks(10, 4, 2))))
    assert "Drift: 10 clients, 4 rounds; 2 ever flagged, 2 ever excluded" in found
    assert {"site 0", "site 1"} <= set(found)
    assert "site 5" not in found
    assert {"round", "score / threshold", "threshold", "excluded", "a client never flagged"} <= set(found)


def test_each_kind_of_finding_has_a_name_of_its_own() -> None:
    assert "flagged only" in texts(picture(table(checks(10, 3, 1, Drift(rounds=2)))))
    assert "less weight" in texts(picture(table(checks(10, 3, 1, Drift(action="down_weight")))))
    found = table(checks(10, 3, 1))
    found["within_noise"], found["flagged"], found["excluded"], found["weight"] = found["flagged"], False, False, 1.0
    assert "over, within its noise" in texts(picture(found))


def test_of_many_flagged_clients_those_furthest_out_are_named() -> None:
    found = texts(picture(table(checks(100, 3, 20))))
    assert sum(text.startswith("site") for text in found) == NAMED


@pytest.mark.parametrize(("clients", "rounds"), [(1, 1), (2, 3), (3, 1)])
def test_few_clients_and_rounds_are_drawn(clients: int, rounds: int) -> None:
    assert texts(picture(table(checks(clients, rounds))))


def test_a_client_that_misses_rounds_is_drawn_and_named() -> None:
    found = table(checks(10, 3, 1))
    assert "site 0" in texts(picture(found[~((found["client"] == "site 0") & (found["round"] == 3))]))


def test_names_are_texts_whatever_they_hold() -> None:
    found = texts(picture(table(checks(10, 2, 1, prefix="<b>$x^2$ & 北京</b>"))))
    assert "<b>$x^2$ & 北京</b> 0" in found


def test_a_score_over_a_threshold_of_nothing_is_drawn() -> None:
    sets = np.ones((9, 30))
    sets[4] = 2.0
    assert "client 4" in texts(
        picture(table([(1, check(Drift(score="median"), LAYOUT, [f"client {i}" for i in range(9)], sets))]))
    )


def test_nothing_is_drawn_on_a_display_and_the_module_starts_light() -> None:
    code = (
        "import sys; from components.federation.drift.picture import picture; assert 'matplotlib' not in sys.modules\n"
        "import pandas as pd; picture(pd.read_json(sys.stdin, orient='records'))\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", code], input=table(checks(3, 2)).to_json(orient="records"), text=True, check=True
    )
