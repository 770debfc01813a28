"""ARIREC per country on the public cancer table, anonymised country by country on levels in common."""

from pathlib import Path
from typing import Any

import pytest

from components.anonymization import Given
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.sources import load
from components.data import read
from components.federation.harmonising.declarations import Harmonising
from components.federation.harmonising.method import harmonise
from components.federation.harmonising.outcome import Harmonisation
from components.federation.partitioning.declarations import ByColumn
from components.federation.partitioning.partition import partition
from components.federation.sites import sites
from runner.compose import compose_run

ROOT = Path(__file__).parents[3]
FILE = ROOT.parent / "shared" / "data" / "global_cancer_patients_2015_2024.csv"
ARIREC = {
    "Australia": 0.04350,
    "Brazil": 0.04418,
    "Canada": 0.04528,
    "China": 0.04485,
    "Germany": 0.04391,
    "India": 0.04367,
    "Pakistan": 0.04461,
    "Russia": 0.04353,
    "UK": 0.04323,
    "USA": 0.04319,
}


def by_country(how: str, **asked: Any) -> Harmonisation:
    whole = ("model=none", "anonymization=none", "dataset.split.test=0")
    dataset = compose_run(["dataset=cancer_file", f"dataset.source.path={FILE}", *whole]).config.dataset
    table = read(dataset, dataset.source, ROOT).table
    parts = partition(ByColumn(), table, 42)
    params = Lattice.model_validate({"k": 5, "criteria": [{"name": "l_distinct", "l": 2}], **asked})
    given = Given(hierarchies=load(dataset, ROOT))
    return harmonise(Harmonising(harmonise=how), params, sites(table, parts, 42), given, parts.column)


@pytest.mark.skipif(not FILE.exists(), reason="the public table is no part of this repository")
@pytest.mark.parametrize("how", ["max", "common"])
def test_countries_have_their_known_arirec_on_ten_year_bands(how: str) -> None:
    found = by_country(how)
    assert found.levels == {"Age": 2, "Gender": 0, "Country_Region": 0, "Year": 0}
    reached = {one.site.name: one.release.after for one in found.sites}
    assert {name: round(after.risk.arirec, 5) for name, after in reached.items()} == ARIREC
    assert {after.classes for after in reached.values()} == {210}
    assert min(after.k for after in reached.values()) >= 5
    assert found.after.classes == 2100
