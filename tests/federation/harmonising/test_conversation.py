"""Between the server that agrees on levels and the sites is a wire: what crosses is counted, and nothing else does."""

from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.reachable import reached
from components.anonymization import Given
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.sources import load
from components.anonymization.lattice.search import Search
from components.anonymization.release import Release
from components.data.table import Table
from components.federation.harmonising import method
from components.federation.harmonising.declarations import Harmonising
from components.federation.harmonising.station import Station
from components.federation.messages import EVERYONE, SERVER, Wire
from components.federation.sites import Site
from schemas.faults import GoalError

Make = Callable[..., Any]
PRIVATE = (pd.DataFrame, pd.Series, pd.Index, Table, Site, Station, Search, Release)
SIZES = (37, 41, 53)


def private(start: object) -> list[str]:
    """Return what of sites can be reached: their objects, and anything that is as long as one of them has rows."""
    return [
        type(each).__name__
        for each in reached(start)
        if isinstance(each, PRIVATE) or (isinstance(each, np.ndarray | list | tuple) and len(each) in SIZES)
    ]


def watched(talk: Generator[Any, Any, Any], found: list[str], steps: list[int]) -> Generator[Any, Any, Any]:
    """Pass questions and answers through, and look at what the server holds at each of them."""
    try:
        ask = next(talk)
        while True:
            steps.append(1)
            found += private(talk) + private(ask)
            heard = yield ask
            found += private(heard)
            ask = talk.send(heard)
    except StopIteration as done:
        found += private(done.value)
        return done.value


def three(made_schema: Make, made_site: Make) -> list[Site]:
    rng, schema = np.random.default_rng(0), made_schema()
    return [
        made_site(
            f"site {number}",
            schema,
            age=rng.integers(0, 8, rows),
            town=rng.choice(["a1", "a2", "b1", "b2"], rows),
            land=rng.choice(list("xyz"), rows),
        )
        for number, rows in enumerate(SIZES)
    ]


def agreed(sites: list[Site], how: str, wire: Wire | None = None, **asked: Any) -> Any:
    options = {key: asked.pop(key) for key in ("unreachable",) if key in asked}
    params = Lattice.model_validate({"k": 3, **asked})
    given = Given(hierarchies=load(sites[0].train.schema, Path()))
    return method.harmonise(Harmonising(harmonise=how, **options), params, sites, given, "land", wire)  # type: ignore[arg-type]


@pytest.mark.parametrize("quality", ["loss", "discernibility"])
@pytest.mark.parametrize("how", ["max", "common", "none"])
def test_nothing_of_a_site_can_be_reached_from_the_server(
    how: str, quality: str, made_schema: Make, made_site: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []
    steps: list[int] = []
    real = method.agreeing
    monkeypatch.setattr(method, "agreeing", lambda *given: watched(real(*given), found, steps))
    agreed(three(made_schema, made_site), how, quality=quality)
    assert found == []
    assert len(steps) >= 3


def test_what_a_server_should_not_hold_is_found_where_it_does(made_schema: Make, made_site: Make) -> None:
    def holding(site: Site) -> Generator[Any, Any, Any]:
        inside = {"deep": [site.train]}
        yield "asked"
        yield inside

    talk = holding(three(made_schema, made_site)[0])
    next(talk)
    assert {"Site", "Table", "DataFrame"} <= set(private(talk))


@pytest.mark.parametrize("how", ["max", "common", "none"])
def test_every_message_is_on_the_wire_and_nothing_is_answered_that_was_not_asked(
    how: str, made_schema: Make, made_site: Make
) -> None:
    wire, sites = Wire(), three(made_schema, made_site)
    found = agreed(sites, how, wire)
    told = Counter((each.site, each.kind) for each in found.told)
    crossed = Counter((each.sender, each.kind) for each in wire.crossings if each.sender != SERVER)
    assert told == crossed
    for site in sites:
        kinds = Counter({kind: count for (name, kind), count in crossed.items() if name == site.name})
        assert {kinds[kind] for kind in ("hierarchies", "optimum", "measured")} == {1}
        proposed = [each for each in wire.crossings if each.kind == "proposal" and each.receiver == site.name]
        assert kinds["node"] == len(proposed)
    broadcast = [each for each in wire.crossings if each.receiver == EVERYONE]
    assert [each.kind for each in broadcast] == ["agreed levels"] * (how != "none")
    assert not any(each.numbers for each in wire.crossings)


def test_a_site_that_reaches_nothing_tells_that_and_no_more(made_schema: Make, made_site: Make) -> None:
    sites = three(made_schema, made_site)
    small = made_site("small", sites[0].train.schema, age=[0, 7])
    wire = Wire()
    found = agreed([*sites, small], "common", wire, unreachable="leave_out")
    assert [(each.kind, each.content) for each in found.told if each.site == "small"][1:] == [("unreachable", None)]
    assert [each.kind for each in wire.crossings if each.sender == "small"] == ["hierarchies", "unreachable"]
    assert [each.kind for each in wire.crossings if each.receiver == "small"] == []
    assert [one.site.name for one in found.left_out] == ["small"]
    assert found.left_out[0].faults


def test_why_a_site_stopped_the_run_is_told_by_the_site_itself(made_schema: Make, made_site: Make) -> None:
    sites = three(made_schema, made_site)
    small = made_site("small", sites[0].train.schema, age=[0, 7])
    with pytest.raises(GoalError) as stopped:
        agreed([*sites, small], "max")
    whole, *own = stopped.value.faults
    assert "1 of 4 clients can't reach the criteria: 'small'" in str(whole)
    assert [fault.place.split(",")[0] for fault in own] == ["client 'small'"]
