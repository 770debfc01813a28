"""Risk of a release by what an attacker knows: subsets of the quasi-identifiers, and the population."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from components.anonymization import Given, Release
from components.anonymization.population import person_count, raw_population_sizes, risk_in_population, rows_as_persons
from components.data import Table
from components.risk.subsets import subset_risk
from runner.facts import in_classes
from schemas.dataset import Population
from schemas.tables import Metric

LARGEST_SUBSET = 3


@dataclass(frozen=True)
class Exposure:
    """What was measured before and after.

    Parameters
    ----------
    subsets : pandas.DataFrame
        Columns ``when``, ``subset``, ``size`` and the figures of `components.risk.subsets.subset_risk`.
    metrics : list of Metric
        Of the population, where one is declared.
    before, after : dict
        What the record says beside the measurement.
    warnings : tuple of str
        What the release does not say itself.
    """

    subsets: pd.DataFrame
    metrics: list[Metric]
    before: dict[str, Any]
    after: dict[str, Any]
    warnings: tuple[str, ...]


def exposure(train: Table, release: Release, given: Given, population: Population) -> Exposure:
    """Measure the raw rows and the release against attackers who know less, or more, than the quasi-identifiers.

    Parameters
    ----------
    train : Table
        The table that was anonymised.
    release : Release
    given : Given
        Its ``population`` is the population's table.
    population : Population
        As the dataset declares it.
    """
    places = train.frame.index.get_indexer(release.table.frame.index)
    subject = train.schema.subject_id
    everyone = None if subject not in train.frame.columns else train.frame[subject].to_numpy()
    sampled = len(train.frame) if everyone is None else len(pd.unique(everyone))
    size = population.size if given.population is None else person_count(given.population, train.schema)
    sides: tuple[tuple[Literal["before", "after"], Table, Any], ...] = (
        ("before", train, everyone),
        ("after", release.table, None if everyone is None else everyone[places]),
    )
    tables: list[pd.DataFrame] = []
    metrics: list[Metric] = []
    said: dict[str, dict[str, Any]] = {}
    for when, table, persons in sides:
        found = subset_risk(table.frame, table.schema, largest=LARGEST_SUBSET, persons=persons)
        tables.append(found.assign(when=when))
        said[when] = {"most_exposed_subsets": _most_exposed(found)}
        fitting = release.fitting
        if when == "before":
            fitting = None if given.population is None else raw_population_sizes(table, given.population)
        risk = risk_in_population(table, size, fitting, sampled=sampled, persons=persons)
        if risk is not None:
            said[when]["population"] = asdict(risk)
            metrics += in_classes(risk.figures(), when, persons=persons is not None)
    subsets = pd.concat(tables, ignore_index=True)
    first = ["when", "subset", "size"]
    warnings = tuple(each for each in rows_as_persons(given.population, train.schema) if each not in release.warnings)
    ordered = subsets[[*first, *subsets.columns.drop(first)]]
    return Exposure(ordered, metrics, said["before"], said["after"], warnings)


def _most_exposed(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Return, per size of subset, the one that leaves most records alone, and then has the largest mean risk."""
    if found.empty:
        return []
    ranked = found.sort_values(["sample_uniques", "risk_prosecutor_mean"], ascending=False, kind="stable")
    worst = ranked.groupby("size", sort=True).head(1).sort_values("size")
    plain = worst[["subset", "k", "sample_uniques", "risk_prosecutor_max", "risk_prosecutor_mean"]]
    return [{str(name): _plain(value) for name, value in row.items()} for row in plain.to_dict("records")]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
