"""Risk of a release to someone who doesn't know who is in it, but knows the population that its persons are of."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from components.risk.release import Sizes
from components.risk.uniqueness import Estimate, pitman, zayatz
from schemas.faults import DataError, Fault


@dataclass(frozen=True, slots=True)
class PopulationRisk:
    """How likely records are re-identified by a journalist, and how many persons of the population are unique.

    f_j persons of the release and F_j persons of the population are in class j; N is the whole population, and n all
    persons that were drawn from it. Fully suppressed records are in no class. Without any class every risk is 0.

    Parameters
    ----------
    size : int
        Persons N in the population.
    sampling_fraction : float
        n / N.
    estimated : bool
        Whether the F_j are estimates, f_j N/n, for want of a population table (or of a way to look classes up in it).
    k_map : float
        Smallest F_j (Sweeney 2002).
    journalist_max, journalist_mean : float
        Largest and mean 1/F_j over records.
    marketer : float
        Expected share of records re-identified when all are matched with the population: the sum of f_j/F_j over
        classes by the sum of f_j. It is the journalist mean: with every record attacked, both count the same matches.
    uniques_pitman, uniques_zayatz : Estimate
        Share of the population that is alone in its class (see `components.risk.uniqueness`).
    """

    size: int
    sampling_fraction: float
    estimated: bool
    k_map: float
    journalist_max: float
    journalist_mean: float
    marketer: float
    uniques_pitman: Estimate
    uniques_zayatz: Estimate

    def figures(self) -> list[tuple[str, str, float]]:
        """Return (metric, column, value) rows under the names of ``metrics.csv``."""
        return [
            ("k_map", "", self.k_map),
            ("risk_journalist_max", "", self.journalist_max),
            ("risk_journalist_mean", "", self.journalist_mean),
            ("risk_marketer_population", "", self.marketer),
            ("population_uniques_pitman", "", self.uniques_pitman.share),
            ("population_uniques_zayatz", "", self.uniques_zayatz.share),
        ]


def population_risk(
    class_sizes: Sizes,
    size: int,
    in_population: npt.NDArray[np.number[Any]] | None = None,
    *,
    sampled: int | None = None,
) -> PopulationRisk:
    """Measure the risk of a release whose persons are of a population.

    Parameters
    ----------
    class_sizes : ndarray of int, shape (classes,)
        Persons f_j of the release in each class, without fully suppressed ones.
    size : int
        Persons N in the population.
    in_population : ndarray, shape (classes,), optional
        Persons F_j of the population in each class. Without it they are estimated as f_j N/n.
    sampled : int, optional
        Persons n that were drawn from the population, those of suppressed records included; without it the classes
        hold them all.

    Raises
    ------
    DataError
        The population can't be the one the persons are of: it is smaller than the table, or than one of the classes.

    Notes
    -----
    Journalist risk: El Emam and Dankar, Protecting Privacy Using k-Anonymity, JAMIA 15 (2008), 627-637. Marketer risk
    with a population: Dankar and El Emam, A Method for Evaluating Marketer Re-identification Risk (2010).
    """
    records = int(class_sizes.sum())
    sampled = records if sampled is None else sampled  # a person may have rows in several classes
    refuse_small(sampled, size)
    if in_population is not None and (short := int(np.count_nonzero(in_population < class_sizes))):
        raise DataError(
            Fault(
                place="dataset.population.path",
                problem=f"{short} of {len(class_sizes)} classes hold more persons than the population's",
                allowed="a population that all persons of the table are of, one row a person or with their subject id",
                remedy="bring the whole population, coded as the table is, or state dataset.population.size alone",
            )
        )
    if sampled < records:  # the estimators are of samples in which each person is drawn into one class
        uniques = (Estimate(math.nan, "persons have rows in several classes"),) * 2
    else:
        uniques = pitman(class_sizes, size), zayatz(class_sizes, size)
    if not records:
        return PopulationRisk(size, sampled / size, in_population is None, 0.0, 0.0, 0.0, 0.0, *uniques)
    found = class_sizes * (size / sampled) if in_population is None else in_population.astype(np.float64)
    mean = float(np.sum(class_sizes / found)) / records
    return PopulationRisk(
        size=size,
        sampling_fraction=sampled / size,
        estimated=in_population is None,
        k_map=float(found.min()),
        journalist_max=1.0 / float(found.min()),
        journalist_mean=mean,
        marketer=mean,
        uniques_pitman=uniques[0],
        uniques_zayatz=uniques[1],
    )


def refuse_small(records: int, size: int) -> None:
    """Raise ``DataError`` where a population is smaller than the table that is said to be a part of it."""
    if records > size:
        raise DataError(
            Fault(
                place="dataset.population",
                problem=f"{size} persons in the population, and {records} in the table",
                allowed="at least as many persons as the table has",
                remedy="correct dataset.population.size, or bring the whole population",
            )
        )
