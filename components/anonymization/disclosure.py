"""What the classes of a table give away about the values of one column."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from components.anonymization.criteria.distances import equal_distance, ordered_distance
from components.anonymization.criteria.gains import basic_gain, enhanced_gain, log_ratio
from components.anonymization.criteria.scores import natural_distance
from components.anonymization.criteria.sensitive import Values, shares
from components.classes.coding import IntArray, any_row_of, combined
from components.classes.counts import Counts, distinct, entropy, largest_share, recursive, tally

FIGURES = (
    "l_distinct",
    "l_known",
    "l_entropy",
    "l_recursive",
    "alpha",
    "alpha_persons",
    "t",
    "t_released",
    "beta",
    "beta_enhanced",
    "delta_disclosure",
)
"""The figures of a column, under their names in ``metrics.csv``; one that is None is undefined."""


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What classes give away about one sensitive column: the worst class of each figure.

    All but `alpha_persons` count rows, whoever they are about.

    Parameters
    ----------
    l_distinct : int
        Fewest different values in a class.
    l_entropy : float
        Least exp(entropy) of a class.
    l_recursive : float
        What c must exceed for recursive (c, 2)-diversity; infinite where a class holds one value only.
    alpha : float
        Largest share of one value in a class.
    t : float
        Largest earth mover's distance of a class to the table that was anonymised.
    t_released : float
        The same against the released rows alone, which can be checked from a release by itself.
    beta : float
        Largest relative gain (q - p) / p of a value in a class over the table.
    beta_enhanced : float
        The same; infinite where a gain is above -ln p, which no enhanced beta allows.
    delta_disclosure : float
        Largest abs(ln(q / p)), in nats; infinite where a class lacks a value of the table.
    distance : {"equal", "ordered"}
        Ground distance of t and t_released.
    l_known : int
        Fewest different values in a class, missing cells aside: a class of one value and blanks gives that value away.
    sensitive : bool
        Whether the schema gives the column the role sensitive; a target is measured without it too, because the
        classes of a label-driven method are often pure in it.
    alpha_persons : float or None
        Largest share of a class's persons who have one value in common, of those of whom a value is known: at 1
        whoever is known to be in the class has that value, among others maybe. None without a subject id.
    """

    l_distinct: int
    l_entropy: float
    l_recursive: float
    alpha: float
    t: float
    t_released: float
    beta: float
    beta_enhanced: float
    delta_disclosure: float
    distance: str
    l_known: int
    sensitive: bool
    alpha_persons: float | None = None


@dataclass(frozen=True, slots=True)
class Classes:
    """The class of each row that is not fully suppressed: ``ids[i]`` is that of row ``keep[i]``."""

    ids: IntArray
    count: int
    keep: IntArray


def disclosure_of(values: Values, classes: Classes, persons: tuple[IntArray, int] | None = None) -> Disclosure:
    """Measure what classes give away about one column.

    Parameters
    ----------
    values : Values
        Of all rows.
    classes : Classes
    persons : (ndarray of int, int), optional
        The person of each row as a code, and how many codes there are.
    """
    kept = values.codes[classes.keep]
    counts = tally(classes.ids, kept, classes.count, values.size)
    distance = natural_distance(values)
    distance_to = equal_distance if distance == "equal" else ordered_distance
    return Disclosure(
        l_distinct=int(distinct(counts).min()),
        l_entropy=float(entropy(counts).min()),
        l_recursive=float(recursive(counts, 2).max()),
        alpha=float(largest_share(counts).max()),
        t=float(distance_to(counts, values.table).max()),
        t_released=float(distance_to(*_occurring(counts, kept)).max()),
        beta=float(basic_gain(counts, values.table).max()),
        beta_enhanced=float(enhanced_gain(counts, values.table).max()),
        delta_disclosure=float(log_ratio(counts, values.table).max()),
        distance=distance,
        l_known=_known_values(values.known[classes.keep], values.attribute.size, classes),
        sensitive=values.column.role == "sensitive",
        alpha_persons=None if persons is None else _alpha_persons(values, classes, *persons),
    )


def _known_values(codes: IntArray, size: int, classes: Classes) -> int:
    """Return the fewest different values of a class, missing ones aside."""
    known = codes >= 0
    counts = tally(classes.ids[known], codes[known], classes.count, size)
    found = np.bincount(counts.classes, minlength=classes.count)
    return int(found.min())


def _alpha_persons(values: Values, classes: Classes, persons: IntArray, n_persons: int) -> float:
    """Return the largest share of a class's persons who have one value in common; 0 where no value is known."""
    known = values.known[classes.keep] >= 0
    rows, ids = classes.keep[known], classes.ids[known]
    if not rows.size:
        return 0.0
    members, n_members = combined([(ids, classes.count), (persons[rows], n_persons)])  # a person in a class
    class_of = ids[any_row_of(members, n_members)]
    theirs = tally(members, values.known[rows], n_members, values.size)  # each value of a person once
    common = tally(class_of[theirs.classes], theirs.codes, classes.count, values.size)
    everyone = np.bincount(class_of, minlength=classes.count)
    return float((common.counts / everyone[common.classes]).max())


def _occurring(counts: Counts, kept: IntArray) -> tuple[Counts, Any]:
    """Give values new numbers over the released rows alone, whose order distance knows no other values."""
    share = shares(kept, counts.n_codes)
    used = np.flatnonzero(share)
    place = np.cumsum(share > 0) - 1
    values = place[counts.codes]
    return Counts(counts.classes, values, counts.counts, counts.n_classes, len(used)), share[used]
