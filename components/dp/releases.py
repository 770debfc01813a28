"""What a client let go of, as the accounting sees it: Gaussian releases, each so many times."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isfinite, sqrt


@dataclass(frozen=True, slots=True, order=True)
class Releases:
    """Equal Gaussian releases.

    Parameters
    ----------
    multiplier : float
        Standard deviation of the noise over the clip norm; 0 is a release without noise.
    rate : float
        Probability with which a Poisson batch takes a record, in (0, 1]; 1 where everything takes part.
    times : int
        How many of them.
    units : float
        Sensitivity in clip norms: 1 where a message or record becomes nothing, 2 where it becomes another one. With a
        rate below 1 nothing but 1 (add or remove a record) and 2 (replace it) is known to the accounting.

    Raises
    ------
    ValueError
        A number is out of its range.
    """

    multiplier: float
    rate: float = 1.0
    times: int = 1
    units: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges: a wrong one would be a wrong epsilon."""
        if not (isfinite(self.multiplier) and self.multiplier >= 0):
            raise ValueError("a noise multiplier is a finite number of at least 0")
        if not 0 < self.rate <= 1:
            raise ValueError("a sampling rate lies in (0, 1]")
        if self.times < 0:
            raise ValueError("nothing is released less than 0 times")
        if not (isfinite(self.units) and self.units > 0):
            raise ValueError("a sensitivity is a finite number above 0")
        if self.rate < 1 and self.units not in (1, 2):
            raise ValueError("a sampled release has a sensitivity of 1 or 2 clip norms")


def merged(releases: Iterable[Releases]) -> tuple[Releases, ...]:
    """Return the same releases, equal ones together, in a fixed order.

    Whatever order rounds came in, the same figure comes out, and it is computed once.
    """
    times: dict[Releases, int] = {}
    for each in releases:
        if each.times:
            kind = replace(each, times=1)
            times[kind] = times.get(kind, 0) + each.times
    return tuple(replace(kind, times=count) for kind, count in sorted(times.items()))


def split(releases: Iterable[Releases]) -> tuple[float, tuple[Releases, ...]]:
    """Return ``mu`` of all that was released in full, and what was sampled.

    The composition of Gaussians is one Gaussian with ``mu = sqrt(sum (units / multiplier)^2)`` (Dong, Roth and Su,
    arXiv 1905.02383, corollary 3.3); it is infinite where a release has no noise.
    """
    known = merged(releases)
    if any(each.multiplier == 0 for each in known):
        return float("inf"), ()
    full = sum(each.times * (each.units / each.multiplier) ** 2 for each in known if each.rate == 1)
    return sqrt(full), tuple(each for each in known if each.rate < 1)
