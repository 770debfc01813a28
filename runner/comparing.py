"""The federation stage of a comparison: every scenario at every seed, and what of it is written down and told."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import pandas as pd

from components.data import Table
from components.dp.checks import mechanism_of
from components.dp.claims import Claim, sentence, shown
from components.dp.conditions import NO_GUARANTEE
from components.dp.declarations import Noised
from components.federation.comparison import Difference, Interval, Trial, differences, means, seeds_of, trials
from components.federation.equalising import Common, equalised
from components.federation.known import told_before, told_risks
from components.federation.scenarios import unit_of
from components.federation.stage import Federated, Sites, terms
from runner.accounted import Book
from runner.facts import HEADLINE
from runner.job import Job
from runner.noises import scenarios_of
from schemas.tables import Metric
from schemas.wording import MOST_NAMED

SEEDS, MEANS, CLIENTS = "data/seeds.csv", "federation/comparison.csv", "federation/comparison_clients.csv"
TOO_LONG = 1e5

RELEASED = (
    *("mechanism", "relation", "clip", "multiplier", "rate", "steps"),
    *("epsilon", "epsilon_client", "epsilon_server", "delta", "basis", "statement"),
)
"""What a comparison's table of clients says of noise, as the ledger names it."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Scenarios that were compared.

    Parameters
    ----------
    scenarios : mapping of str to Noised or None
        With the noise that they were given.
    common : list of Common
        What was kept equal.
    trials : list of Trial
    kept : Federated
        The first scenario at the run's own seed.
    risks : mapping of str to float
        ARIREC of each client that told it.
    """

    scenarios: Mapping[str, Noised | None]
    common: list[Common]
    trials: list[Trial]
    kept: Federated
    risks: Mapping[str, float]

    @property
    def privacy(self) -> Noised | None:
        """The noise of what is kept."""
        return next(iter(self.scenarios.values()))

    def means(self) -> dict[str, dict[str, Interval]]:
        """Return the mean of each figure, by scenario."""
        return {name: means(self.trials, name) for name in self.scenarios}


def compared(job: Job, bring: Sites, book: Book, test: Table) -> Compared:
    """Train every scenario at every seed.

    Parameters
    ----------
    job : Job
        Of a configuration with a comparison.
    bring : Sites
    book : Book
        Of the training that is kept, the first scenario at the run's own seed; the others are counted in it.
    test : Table
        Test rows of all sites, as the model sees them.
    """
    config, asked = job.config, job.config.comparison
    asked_for = scenarios_of(config)
    known = told_before(config.federation.aggregation.rule, asked_for.values(), bring.rows, bring.risks, book.some.wire)
    scenarios, common = equalised(asked_for, asked.equalise, terms(config.federation, known, seed=config.seed))
    kept: list[Federated] = []
    found = trials(
        config.federation,
        scenarios,
        config.model,
        bring,
        seeds_of(config.seed, asked.seeds),
        test,
        learned_encoder=config.encoder.learn,
        keep=kept.append,
        began=lambda under: book.began(under, next(iter(scenarios.values()))),
        wire=book.some.wire,
    )
    everything = []
    for each in found:
        everything.append(each)
        book.others = min(len(everything), len(scenarios) * asked.seeds - 1)  # but for the first, and with the next one
        job.record.event("scenario trained", "federation", scenario=each.scenario, number=each.number, seed=each.seed)
    return Compared(scenarios, common, everything, kept[0], told_risks(book.some.wire))


def write(job: Job, some: Compared, bring: Sites) -> None:
    """Write single seeds, means with paired differences, and what each client was given; and record all."""
    tables = {
        SEEDS: pd.DataFrame(_single(some.trials)),
        MEANS: pd.DataFrame([*_means(some), *map(_row, differences(some.trials))]),
        CLIENTS: pd.DataFrame(_clients(some, bring)),
    }
    for name, table in tables.items():
        path = job.record.path(name)
        table.to_csv(path, index=False, lineterminator="\n")
        job.record.output(path, release="internal", rows=len(table))
    job.measured(_metrics(some))


def section(some: Compared, equalise: str | None) -> dict[str, Any]:
    """Return what the record says of a comparison."""
    return {
        "scenarios": {
            name: {} if privacy is None else privacy.model_dump() for name, privacy in some.scenarios.items()
        },
        "seeds": list(dict.fromkeys(each.seed for each in some.trials)),
        "equalise": equalise,
        "equalised": [asdict(each) for each in some.common],
        "kept": next(iter(some.scenarios)),
        "differences": [
            {"scenario": each.scenario, "against": each.against, "metric": each.metric, **asdict(each.by)}
            for each in differences(some.trials)
        ],
    }


def lines(job: Job, some: Compared) -> list[tuple[str, str]]:
    """Return the closing lines: the reference lines, each scenario, what they differ by, and each client's cost."""
    metric = HEADLINE[job.config.dataset.task]
    about = {
        each.scope: each.value
        for each in job.metrics
        if each.stage == "model" and each.metric == metric and each.split == "test" and each.value is not None
    }
    references = ", ".join(f"{about[scope]:.4f} {scope}" for scope in ("constant", "linear") if scope in about)
    told = [(metric, f"{references}   (test rows of all sites; fitted to the raw rows of all in one place)")]
    for name, figures in some.means().items():
        if metric in figures:
            told.append(("", f"{_interval(figures[metric])} {name}, {_promise(some, name)}"))
    told.append(("", f"mean [95 % interval] over {len(some.trials) // len(some.scenarios)} paired seeds"))
    first = next(iter(some.scenarios))
    told.append(("kept", f"the model of {first} at the first seed: {_kept(some, first)}"))
    told.append(("ledger", f"of that training alone; {len(some.trials) - 1} others used the same rows"))
    told += [("equalised", each.said()) for each in some.common]
    gaps = [
        f"{_interval(each.by, '+')} {each.scenario} over {each.against}, at the same seeds"
        for each in _headlines(some, metric)
    ]
    told += _below("difference", gaps)
    if some.risks:
        told.append(("arirec", _each_client({name: f"{risk:.4f}" for name, risk in some.risks.items()}, some.risks)))
    return [*told, *_below("epsilon", list(_by_client(some)))]


def _below(name: str, texts: list[str]) -> list[tuple[str, str]]:
    return [("" if number else name, text) for number, text in enumerate(texts)]


def _by_client(some: Compared) -> Iterator[str]:
    """Yield each scenario's epsilon by client, at the first seed."""
    for each in some.trials:
        if each.number == 1 and each.epsilons:
            figures = {name: shown(value) for name, value in each.epsilons.items()}
            yield f"{each.scenario}: {_each_client(figures, each.epsilons)}"


def _each_client(figures: Mapping[str, str], by: Mapping[str, float]) -> str:
    """Return the figure of each client; of many clients the least and the largest."""
    if len(set(figures.values())) == 1:
        return f"{next(iter(figures.values()))} at every client"
    if len(figures) <= MOST_NAMED:
        return ", ".join(f"{name} {figure}" for name, figure in figures.items())
    least, most = min(by, key=by.__getitem__), max(by, key=by.__getitem__)
    return f"{figures[least]} ({least}) to {figures[most]} ({most}), {len(figures):,} clients"


def _headlines(some: Compared, metric: str) -> Iterator[Difference]:
    """Yield the differences that mean something at a glance; all stand in a table.

    Where a figure was kept equal, that of the scenario that set it over each that followed; of scenarios that were
    left as they are, over the first of all.
    """
    first = next(iter(some.scenarios))
    reference = {name: each.reference for each in some.common for name in each.figures}
    for each in differences(some.trials):
        if each.metric != metric:
            continue
        if reference.get(each.scenario) == each.against:
            yield each.turned()
        elif each.against == first and each.scenario not in reference:
            yield each


def _interval(by: Interval, sign: str = "") -> str:
    ends = "" if by.low is None or by.high is None else f" [{_figure(by.low, sign)}, {_figure(by.high, sign)}]"
    return f"{_figure(by.mean, sign)}{ends}"


def _figure(value: float, sign: str = "") -> str:
    """Return four digits after the point, and of what has grown without bounds its size alone."""
    return f"{value:{sign}.4f}" if abs(value) < TOO_LONG else f"{value:{sign}.1e}"


def _promise(some: Compared, scenario: str) -> str:
    """Return what a scenario promises, in words."""
    privacy = some.scenarios[scenario]
    if privacy is None:
        return "no noise"
    worst = _worst(some.trials, scenario)
    if worst is None:
        return NO_GUARANTEE
    what = "one record" if unit_of(privacy) == "record" else "a client's whole table"
    alone = " against outsiders alone" if mechanism_of(privacy) in ("server", "distributed") else ""
    return f"epsilon {shown(worst)} at the worst client for {what}{alone}"


def _kept(some: Compared, scenario: str) -> str:
    """Return what is promised of the model that is kept: no noise is no guarantee."""
    return f"{NO_GUARANTEE} (dp=none)" if some.scenarios[scenario] is None else _promise(some, scenario)


def _worst(found: Iterable[Trial], scenario: str) -> float | None:
    """Return the largest epsilon of a scenario; None where none holds."""
    own = [max(each.epsilons.values()) for each in found if each.scenario == scenario and each.epsilons]
    return max(own, default=None)


def _single(found: Iterable[Trial]) -> Iterator[dict[str, Any]]:
    for each in found:
        about = {"scenario": each.scenario, "number": each.number, "seed": each.seed}
        told = {"rounds": each.rounds, "excluded": each.excluded, "seconds": round(each.seconds, 3)}
        yield {**about, **each.figures, "worst_epsilon": max(each.epsilons.values(), default=None), **told}


def _means(some: Compared) -> Iterator[dict[str, Any]]:
    for name, figures in some.means().items():
        for metric, by in figures.items():
            yield {"scenario": name, "against": "", "metric": metric, **asdict(by)}


def _row(each: Difference) -> dict[str, Any]:
    return {"scenario": each.scenario, "against": each.against, "metric": each.metric, **asdict(each.by)}


def _clients(some: Compared, bring: Sites) -> Iterator[dict[str, Any]]:
    """Yield what every client was given in every scenario, at the first seed."""
    for each in some.trials:
        if each.number == 1:
            for client, rows in bring.rows.items():
                about = {"scenario": each.scenario, "client": client, "rows": rows, "arirec": some.risks.get(client)}
                yield about | _released(each.claims.get(client), each.multipliers.get(client))


def _released(claim: Claim | None, multiplier: float | None) -> dict[str, Any]:
    """Return what one client released in one scenario, and what is promised of it: empty cells without noise."""
    empty = dict.fromkeys(RELEASED)
    if claim is None:
        return empty | {"multiplier": multiplier, "statement": NO_GUARANTEE}
    holds = not claim.reasons
    against = {party: each.value if isfinite(each.value) else None for party, each in claim.epsilons.items()}
    return empty | {
        "mechanism": claim.mechanism,
        "relation": claim.relation,
        "clip": claim.clip,
        "multiplier": multiplier,
        "rate": claim.rate,
        "steps": claim.steps,
        "epsilon": against["outsider"] if holds else None,
        "epsilon_client": against["client"] if holds else None,
        "epsilon_server": against["server"] if holds else None,
        "delta": claim.epsilons["outsider"].delta if holds else None,
        "basis": claim.basis,
        "statement": sentence(claim),
    }


def _metrics(some: Compared) -> list[Metric]:
    units = {name: unit for each in some.trials for name, unit in each.units.items()}
    found = [
        Metric(
            stage="model",
            metric=metric,
            scope=f"federated:{name}",
            split="test",
            value=by.mean,
            low=by.low,
            high=by.high,
            unit=units[metric],
        )
        for name, figures in some.means().items()
        for metric, by in figures.items()
    ]
    for name in some.scenarios:
        worst = _worst(some.trials, name)
        if worst is not None:
            found.append(Metric(stage="dp", metric="epsilon", scope=f"federated:{name}", value=worst))
    return found
