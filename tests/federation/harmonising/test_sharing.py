"""What sites share: hierarchies, one input space, and the messages that cross to the server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pandas.testing import assert_frame_equal

from components.anonymization.declarations import Lattice, Mondrian
from components.data.encoding import Encoder
from components.federation.harmonising.declarations import Harmonising, harmonising_faults
from components.federation.sites import Site
from schemas.faults import ConfigurationError, DataError

Make = Callable[..., Any]


def two(make_schema: Make, make_site: Make, **columns: Any) -> list[Site]:
    """Return two sites whose optima differ: the first generalises ages, the second towns."""
    schema = make_schema(**columns)
    return [
        make_site("first", schema, age=[0, 1, 2, 3] * 2, town=["a1"] * 4 + ["b1"] * 4, land=["x"] * 8),
        make_site("second", schema, age=[0, 0, 4, 4], town=["a1", "a2"] * 2, land=["y"] * 4),
    ]


@pytest.mark.parametrize("encoding", ["midpoint", "code", "one_hot"])
@pytest.mark.parametrize("how", ["max", "common"])
def test_all_sites_share_one_input_space_whatever_they_hold(
    encoding: str, how: str, made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    schema = made_schema()
    sites = [
        *two(made_schema, made_site),
        made_site("narrow", schema, age=[7] * 4, town=["b2"] * 4, land=["z"] * 4),
        made_site("starred", schema, age=[0] * 9 + [7], town=["a1"] * 9 + ["b2"], land=["x"] * 10),
    ]
    found = harmonised(sites, how, encode_numbers=encoding, suppression_limit=0.2)
    assert found.sites[-1].release.suppressed == 1
    spaces = {part.release.training.schema.model_dump_json() for part in found.sites}
    assert len(spaces) == 1
    schemas = [part.release.training.schema for part in found.sites]
    encoders = [Encoder.from_schema(schema, schema.features) for schema in schemas]
    assert len({encoder.names for encoder in encoders}) == 1
    assert any(name.startswith("town=b") for name in encoders[0].names)
    for part in found.sites:
        training = part.release.training
        assert_frame_equal(found.seen(part.site.train).frame.loc[training.frame.index], training.frame)
        assert found.seen(part.site.test).schema == training.schema
        assert len(found.seen(part.site.test).frame) == 0


# Hierarchies

TOWN = {"dtype": "category", "values": ["a1", "a2", "b1", "b2"], "role": "quasi_identifier", "hierarchy": "town.csv"}
LAND = {"dtype": "category", "values": ["x", "y", "z"], "role": "quasi_identifier", "hierarchy": "land.csv"}
LEVELS = {"town": "a1;a;*\na2;a;*\nb1;b;*\nb2;b;*\n", "land": "x;*\ny;*\nz;*\n"}


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Write the hierarchy files of three sites; one has other towns grouped, one the same in another order."""
    files = {"ours": LEVELS, "same": LEVELS | {"town": "b1;b;*\nb2;b;*\na1;a;*\na2;a;*\n"}}
    files["other"] = {"town": "a1;a;*\na2;b;*\nb1;b;*\nb2;b;*\n", "land": "x;o;*\ny;o;*\nz;z;*\n"}
    for folder, texts in files.items():
        (tmp_path / folder).mkdir()
        for name, text in texts.items():
            (tmp_path / folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return tmp_path


def filed(make_schema: Make, make_site: Make) -> list[Site]:
    return two(make_schema, make_site, town=TOWN, land=LAND, hierarchies="ours")


def test_sites_may_bring_their_own_files_where_they_say_the_same(
    folders: Path, made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    sites = filed(made_schema, made_site)
    found = harmonised(sites, base=folders, site_hierarchies={"second": "same"})
    assert_frame_equal(found.pooled.frame, harmonised(sites, base=folders).pooled.frame)


def test_a_mismatch_names_the_column_and_who_has_which(
    folders: Path, made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    sites = [*filed(made_schema, made_site), made_site("third", made_schema(town=TOWN, land=LAND, hierarchies="ours"))]
    with pytest.raises(DataError) as told:
        harmonised(sites, base=folders, site_hierarchies={"second": "other"})
    assert [fault.place for fault in told.value.faults] == ["column 'town'", "column 'land'"]
    for fault in told.value.faults:
        assert "2 hierarchies by their digests" in fault.problem
        assert "at 'first', 'third'" in fault.problem
        assert fault.problem.endswith("at 'second'")


def test_files_that_are_missing_are_told_for_every_site(
    folders: Path, made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    with pytest.raises(DataError) as told:
        harmonised(
            filed(made_schema, made_site), base=folders, site_hierarchies=dict.fromkeys(["first", "second"], "no")
        )
    places = {fault.place.split(",")[0] for fault in told.value.faults}
    assert places == {"client 'first'", "client 'second'"}


def test_folders_of_strangers_are_refused(made_schema: Make, made_site: Make, harmonised: Make) -> None:
    with pytest.raises(ConfigurationError, match="there is no client 'third'; one of 'first', 'second'"):
        harmonised(two(made_schema, made_site), site_hierarchies={"third": "other"})


def test_values_that_a_hierarchy_lacks_are_told_for_every_site(
    folders: Path, made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    (folders / "ours" / "town.csv").write_text("b1;b;*\nb2;b;*\n", encoding="utf-8")
    with pytest.raises(DataError) as told:
        harmonised(filed(made_schema, made_site), base=folders, unreachable="leave_out")
    assert [fault.place for fault in told.value.faults] == [
        "client 'first', column 'town'",
        "client 'second', column 'town'",
    ]


# What crosses


@pytest.mark.parametrize("how", ["max", "common", "none"])
def test_what_sites_tell_is_plain_and_holds_no_cell(
    how: str, made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    sites = two(made_schema, made_site)
    found = harmonised(sites, how)
    by_site = {site.name: [one for one in found.told if one.site == site.name] for site in sites}
    for part in found.sites:
        kinds = [one.kind for one in by_site[part.site.name]]
        assert kinds[:2] == ["hierarchies", "optimum"]
        assert kinds[-1] == "measured"
        assert ("weights" in kinds) == (how == "common")
        assert ("node" in kinds) == (how != "none")
        said = by_site[part.site.name][-1].content
        assert said["arirec"] == part.release.after.risk.arirec
        assert said["k"] == part.release.after.k
    text = json.dumps([[one.site, one.kind, one.content] for one in found.told])
    assert not any(f'"{cell}"' in text for cell in ["a1", "a2", "b1", "b2", "x", "y", "flu", "cold", "gout"])
    assert sum(one.kind == "hierarchies" for one in found.told) == len(sites)


def test_digests_told_are_those_of_the_hierarchies(made_schema: Make, made_site: Make, harmonised: Make) -> None:
    found = harmonised(two(made_schema, made_site))
    first = found.told[0]
    assert first.content == found.sites[0].release.transformation["hierarchies"]


# What can't be asked for


@pytest.mark.parametrize(
    ("method", "how", "told"),
    [
        (Mondrian(), Harmonising(), "anonymization=lattice"),
        (Lattice(local_recoding=True), Harmonising(), "anonymization.local_recoding"),
        (Lattice.model_validate({"criteria": [{"name": "k_map", "k": 3}]}), Harmonising(), "k_map counts a population"),
        (Lattice(), Harmonising(harmonise="none"), "no common input space"),
    ],
)
def test_what_cannot_be_harmonised_is_told_before_any_table_is_read(method: Any, how: Harmonising, told: str) -> None:
    (fault,) = harmonising_faults(how, method, trains=True)
    assert told in str(fault)


def test_what_can_be_harmonised_is_no_fault() -> None:
    assert not list(harmonising_faults(Harmonising(), Lattice(), trains=True))
    assert not list(harmonising_faults(Harmonising(harmonise="none"), Lattice(), trains=False))
