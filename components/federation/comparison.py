"""Scenarios of a federation compared over paired seeds: means, intervals and paired differences."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from time import perf_counter

import numpy as np
import numpy.typing as npt
from scipy.stats import t

from components.data.table import Table
from components.dp.claims import Claim
from components.dp.declarations import Noised
from components.federation.accounts import Accounts, accounts
from components.federation.declarations import Federation
from components.federation.messages import Wire
from components.federation.setting import setting_of
from components.federation.stage import Federated, Sites, Underway, federate
from components.models.figures import Figure, utility
from components.randomness import derived_seed
from schemas.declaration import Declaration

SEEDS = "comparison"
"""Name of the random stream that the seeds after the first one come from."""

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Trial:
    """What one training of a scenario came to.

    Parameters
    ----------
    scenario : str
    number : int
        Of the seed, from 1.
    seed : int
        That first weights, cohorts and the order of batches follow from; noise has none.
    figures : mapping of str to float
        On the test rows of all sites, by name as in metrics.csv; those that are defined.
    units : mapping of str to str
        Of these figures.
    epsilons : mapping of str to float
        Of every client against an outsider; empty where no epsilon holds.
    multipliers : mapping of str to float
        Of every client's noise; empty without any.
    claims : mapping of str to Claim
        What was promised to every client at the first seed, or why nothing was; empty without noise, and elsewhere.
    rounds : int
    excluded : int
        Client-rounds that were left out for drift.
    seconds : float
        That training and measuring took.
    """

    scenario: str
    number: int
    seed: int
    figures: Mapping[str, float]
    units: Mapping[str, str] = field(default_factory=dict)
    epsilons: Mapping[str, float] = field(default_factory=dict)
    multipliers: Mapping[str, float] = field(default_factory=dict)
    claims: Mapping[str, Claim] = field(default_factory=dict)
    rounds: int = 0
    excluded: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds with its 95 % interval by Student's t.

    Parameters
    ----------
    mean : float
    low, high : float or None
        None of fewer than two seeds.
    seeds : int
    """

    mean: float
    low: float | None
    high: float | None
    seeds: int


@dataclass(frozen=True, slots=True)
class Difference:
    """What a scenario has over another one, seed by seed.

    Parameters
    ----------
    scenario, against : str
    metric : str
    by : Interval
        Of the figure of `scenario` minus that of `against` at the same seed.
    """

    scenario: str
    against: str
    metric: str
    by: Interval

    def turned(self) -> "Difference":
        """Return what the other scenario has over this one."""
        by = self.by
        low, high = None if by.high is None else -by.high, None if by.low is None else -by.low
        return Difference(self.against, self.scenario, self.metric, Interval(-by.mean, low, high, by.seeds))


def interval(values: npt.ArrayLike) -> Interval:
    """Return the mean of independent values with its interval (Student 1908).

    Parameters
    ----------
    values : array_like, shape (seeds,)
        At least one.
    """
    numbers = np.asarray(values, dtype=np.float64)
    mean, count = float(numbers.mean()), len(numbers)
    if count < 2:
        return Interval(mean, None, None, count)
    half = float(t.ppf((1 + CONFIDENCE) / 2, count - 1) * numbers.std(ddof=1) / np.sqrt(count))
    return Interval(mean, mean - half, mean + half, count)


def seeds_of(root: int, count: int) -> list[int]:
    """Return the seeds of a comparison: the run's own, then others that follow from it."""
    return [root, *(derived_seed(root, SEEDS, round_number=number) for number in range(2, count + 1))]


def trials(  # noqa: PLR0913  # each is another part of the run
    params: Federation,
    scenarios: Mapping[str, Noised | None],
    model: Declaration,
    sites: Sites,
    seeds: Sequence[int],
    test: Table,
    *,
    learned_encoder: bool = False,
    keep: Callable[[Federated], None] = lambda _: None,
    began: Callable[[Underway], None] = lambda _: None,
    wire: Wire | None = None,
) -> Iterator[Trial]:
    """Train every scenario at every seed, on the same sites; one training is held in memory at a time.

    At the same seed all scenarios begin with the same weights, ask the same cohorts and, but for the Poisson batches
    of record-level privacy, take rows in the same order: what differs between them is the noise.

    Parameters
    ----------
    params : Federation
    scenarios : mapping of str to Noised or None
        By name, None where nobody adds noise.
    model : Declaration
    sites : Sites
    seeds : sequence of int
    test : Table
        Rows of all sites that nobody trains on, as the model sees them.
    learned_encoder : bool, default False
        Whether categories or bounds were learned from rows, which takes every epsilon away.
    keep : callable, optional
        Given the first scenario at the first seed, with all that came of it.
    began : callable, optional
        Given the same when it begins.
    wire : Wire, optional
        That the sites have used already; the training that is kept goes on with it, all others begin with what had
        crossed on it.

    Yields
    ------
    Trial
        Seed by seed, so that whatever there is when it stops is paired.
    """
    first = (next(iter(scenarios)), 1)
    begun = (wire or Wire()).begun()
    for number, seed in enumerate(seeds, start=1):
        for name, privacy in scenarios.items():
            started, kept = perf_counter(), (name, number) == first
            own = wire if kept else begun.begun()
            came = federate(params, privacy, model, sites, seed, wire=own, began=began if kept else _unseen)
            setting = None if privacy is None else setting_of(privacy, params, learned_encoder=learned_encoder)
            settled = accounts(came, privacy, setting, others=len(scenarios) * len(seeds) - 1)
            trial = _trial((name, number, seed), came, settled, utility(came.model, test), started)
            if kept:
                keep(came)
            yield trial


def _unseen(_: Underway) -> None:
    """Look at nothing."""


def _trial(
    which: tuple[str, int, int], came: Federated, settled: Accounts, figures: Sequence[Figure], began: float
) -> Trial:
    """Return what is kept of a training: figures, and nothing that grows with rows or weights."""
    scenario, number, seed = which
    checks = [each.closed.checked for each in came.training.rounds if each.closed.checked is not None]
    claims = {} if settled.reasons else settled.claims
    return Trial(
        scenario=scenario,
        number=number,
        seed=seed,
        figures={each.metric: each.value for each in figures if each.value is not None},
        units={each.metric: each.unit for each in figures},
        epsilons={client: claim.epsilons["outsider"].value for client, claim in claims.items()},
        multipliers={client: plan.multiplier or 0.0 for client, plan in came.guarded.plans.items()},
        claims=settled.claims if number == 1 else {},
        rounds=len(came.training.rounds),
        excluded=sum(int(np.count_nonzero(each.excluded)) for each in checks),
        seconds=perf_counter() - began,
    )


def means(found: Sequence[Trial], scenario: str) -> dict[str, Interval]:
    """Return every figure of a scenario as its mean over the seeds, of those that are defined at all of them."""
    own = [each for each in found if each.scenario == scenario]
    shared = [name for name in own[0].figures if all(name in each.figures for each in own)] if own else []
    return {name: interval([each.figures[name] for each in own]) for name in shared}


def differences(found: Sequence[Trial]) -> Iterator[Difference]:
    """Yield what the later of every two scenarios has over the earlier one at the same seeds, figure by figure."""
    names = list(dict.fromkeys(each.scenario for each in found))
    by_seed = {name: {each.number: each.figures for each in found if each.scenario == name} for name in names}
    for against, scenario in combinations(names, 2):
        pairs = [
            (by_seed[scenario][number], by_seed[against][number])
            for number in by_seed[scenario]
            if number in by_seed[against]
        ]
        for metric in pairs[0][0] if pairs else ():
            gaps = [one[metric] - other[metric] for one, other in pairs if metric in one and metric in other]
            if len(gaps) == len(pairs):
                yield Difference(scenario, against, metric, interval(gaps))
