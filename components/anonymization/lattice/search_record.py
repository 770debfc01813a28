"""What a search leaves for its reader: every node that was looked at, what became of it, and why the best one won."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.criteria.figures import limit_text
from components.anonymization.criteria.requirements import Requirement
from components.anonymization.lattice.bounded import Stopped
from components.anonymization.lattice.search import UNTRIED, Look, Proof, Search
from components.anonymization.lattice.space import LevelVector
from components.classes.coding import FloatArray, IntArray

Ending = Proof | Stopped

MOST_ROWS = 20_000
"""Lattices with more nodes are recorded by the nodes that were tried; the others are only counted."""


def names_of(search: Search) -> list[str]:
    """Return how the search's requirements are called, in order; those of one name by what else tells them apart."""
    requirements = search.space.requirements
    named = []
    for one in requirements:
        alike = [_settings(other) for other in requirements if (other.name, other.column) == (one.name, one.column)]
        own = _settings(one)
        apart = [f"{key}={own[key]}" for key in own if any(other.get(key) != own[key] for other in alike)]
        named.append(" ".join([one.name, *apart, *(["on", one.column] if one.column else [])]))
    return named


def _settings(requirement: Requirement) -> dict[str, Any]:
    return {requirement.parameter: limit_text(requirement.asked), **requirement.options}


def node_table(search: Search, ending: Ending) -> pd.DataFrame:
    """Return what became of the nodes of a lattice.

    Returns
    -------
    pandas.DataFrame
        ``trial`` (from 1, in the order tried; empty where a node was not), ``level <column>``, ``quality``, ``bound``
        (what the node loses at least, where that is known), ``suppressed`` (rows), ``misses <criterion>`` (rows of
        classes that miss it) and ``outcome``.
    """
    looks = search.looks
    tried = _tried(search, ending)
    if not isinstance(ending, Proof) or ending.trial.size > MOST_ROWS:
        return tried
    places = np.flatnonzero(ending.trial.reshape(-1) == UNTRIED)
    by = ending.condemned.reshape(-1)[places]
    below = np.array([f"not tried: below {_shown(search, look.levels)}, which suppresses too many" for look in looks])
    rest = pd.DataFrame(
        {
            **_levels(search, np.stack(np.unravel_index(places, ending.trial.shape), axis=1)),
            "bound": _finite(ending.bound.reshape(-1)[places]),
            "outcome": np.select(
                [by != UNTRIED, ending.live.reshape(-1)[places]],
                [below[by], f"not tried: {ending.limit} was over"],
                "not tried: loses no less than the best",
            ),
        }
    )
    return pd.concat([tried, rest], ignore_index=True)


def summary(search: Search, ending: Ending) -> dict[str, Any]:
    """Return the figures of a search: nodes by what became of them, what is proved, and why the best one won."""
    chosen = search.chosen()
    nodes = int(np.prod([float(size) for size in search.space.shape]))
    proved = not ending.limit
    facts: dict[str, Any] = {"nodes": nodes, "tried": len(search.looks), "proved": proved}
    if isinstance(ending, Proof):
        facts["condemned"] = int(np.count_nonzero((ending.condemned != UNTRIED) & (ending.trial == UNTRIED)))
        left = int(np.count_nonzero(ending.live))
        facts["not_better"] = nodes - facts["tried"] - facts["condemned"] - left
    if chosen is None:
        return facts
    bound = ending.lower_bound(search)
    facts |= {
        "value": chosen.value,
        "lower_bound": bound if np.isfinite(bound) else None,
        "chosen": _why(search, proved=proved),
    }
    facts["gap"] = chosen.value - bound if np.isfinite(bound) else None
    if ending.limit:
        facts["stopped_by"] = ending.limit
    return facts


def warnings_of(searches: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return what is to be said of searches, by their `summary`, that the clock has ended."""
    ended = dict.fromkeys(one.get("stopped_by", "") for one in searches)
    return tuple(
        f"a search was ended by {option}: a run on a faster or a slower machine may choose other levels"
        for option in ended
        if option.endswith("_seconds")
    )


def absolute(search: Search, levels: LevelVector) -> LevelVector:
    """Return levels as the hierarchies count them."""
    return tuple(one.levels[level] for one, level in zip(search.space.dimensions, levels, strict=True))


def _why(search: Search, *, proved: bool) -> str:
    equals = sum(look.fits and look.value <= search.limit for look in search.looks)
    others = "nodes not tried may lose less"
    if proved:
        others = "every other node loses no less, or suppresses too many rows"
    if equals == 1:
        return f"loses least; {others}"
    return (
        f"{equals} of the nodes tried lose equally little: of these it suppresses fewest rows, then has the lowest sum "
        f"of levels, then comes first; {others}"
    )


def _tried(search: Search, ending: Ending) -> pd.DataFrame:
    looks, chosen = search.looks, search.chosen()
    levels = np.array([look.levels for look in looks]).reshape(len(looks), len(search.space.shape))
    columns: dict[str, Any] = {"trial": pd.array(range(1, len(looks) + 1), dtype="Int64"), **_levels(search, levels)}
    columns["quality"] = [look.value for look in looks]
    if isinstance(ending, Proof):
        columns["bound"] = _finite(np.array([ending.bound[look.levels] for look in looks]))
    columns["suppressed"] = pd.array([look.suppressed for look in looks], dtype="Int64")
    for number, name in enumerate(names_of(search)):
        columns[f"misses {name}"] = pd.array([look.missed[number] for look in looks], dtype="Int64")
    columns["outcome"] = [_outcome(search, look, chosen) for look in looks]
    return pd.DataFrame(columns, index=range(len(looks)))


def _finite(bounds: FloatArray) -> FloatArray:
    """Leave out bounds that say nothing."""
    return np.where(np.isfinite(bounds), bounds, np.nan)


def _outcome(search: Search, look: Look, chosen: Look | None) -> str:
    if look is chosen:
        return "chosen"
    if look.fits:
        return "equally good, and comes later" if look.value <= search.limit else "loses more than the best"
    missed = [f"{rows} miss {name}" for name, rows in zip(names_of(search), look.missed, strict=True) if rows]
    return f"suppresses more than {search.allowed} rows: {', '.join(missed)}"


def _levels(search: Search, levels: IntArray) -> dict[str, IntArray]:
    return {
        f"level {one.ladder.attribute.name}": np.array(one.levels)[levels[:, number]]
        for number, one in enumerate(search.space.dimensions)
        if not one.held
    }


def _shown(search: Search, levels: LevelVector) -> str:
    """Return a node as text, attributes that are held left out."""
    climbed = [
        str(level) for one, level in zip(search.space.dimensions, absolute(search, levels), strict=True) if not one.held
    ]
    return f"({', '.join(climbed)})"
