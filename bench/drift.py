"""Attackers and honest sites that are unlike one another, under the drift check as it is set by default.

A small federation in numpy on the made-up cancer table: 10 sites, a linear model and a network of one hidden layer,
trained by plain SGD. ``python -m bench.drift`` prints every figure; `proof` says whether they are within the limits.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bench.points import Verdict
from components.data import read
from components.data.cancer import COUNTRIES, GENDERS, STAGES, TYPES, generate
from components.federation.aggregation.declarations import Aggregation, Mean, Rule
from components.federation.aggregation.rules import FloatArray, norm_bounded
from components.federation.aggregation.server import aggregate
from components.federation.attacks.declarations import Attack, LabelFlip, Scaling, SignFlip
from components.federation.attacks.simulate import attacked_numbers, attacked_update
from components.federation.drift.check import Checked, check
from components.federation.drift.declarations import Drift
from components.federation.harmonising.method import harmonise
from components.federation.layout import Layout
from components.federation.partitioning.partition import partition
from components.federation.sites import sites as honest_sites
from components.federation.stage import Sites
from components.federation.stage import federate as train_together
from components.randomness import stream
from runner.compose import compose_run
from runner.given import read_given

CLIENTS = [f"site {number}" for number in range(10)]
BOUNDS = {
    "Age": (20, 89),
    "Year": (2015, 2024),
    "Genetic_Risk": (0, 10),
    "Air_Pollution": (0, 10),
    "Alcohol_Use": (0, 10),
    "Smoking": (0, 10),
    "Obesity_Level": (0, 10),
    "Treatment_Cost_USD": (5_000, 100_000),
    "Survival_Years": (0, 10),
}
ORDERS = {"Gender": GENDERS, "Cancer_Type": TYPES, "Cancer_Stage": STAGES}
LOW, HIGH = 0.0, 10.0
"""The target's domain."""

HIDDEN = {"linear": 0, "network": 16}
BATCH = 64
CLIP = 1.0
NOISE = 0.15
CAUGHT = 22 / 24
"""Least share of the seeds in which an attacker is excluded."""
FALSELY = 0.05
"""Share of site-rounds that honest sites are excluded in, below which it must stay."""

SPOILT = 0.01
"""Most trainings of the default run in which an honest site may be left out, as a share."""

ATTACKS: dict[str, Attack] = {
    "label flip": LabelFlip(clients=CLIENTS[3:4]),
    "sign flip": SignFlip(clients=CLIENTS[3:4]),
    "x100": Scaling(clients=CLIENTS[3:4], factor=100.0),
}

Site = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Setting:
    """One federation; without an attack all sites are honest."""

    model: str
    attack: str = ""
    split: str = "country"
    clip: float | None = None
    noise: float = 0.0
    rows: int = 20_000
    rounds: int = 4
    drift: Drift = field(default_factory=Drift)
    rule: Rule = field(default_factory=Mean)

    def __str__(self) -> str:
        """Say it in a few words."""
        who = self.attack or f"honest, skewed {self.split}"
        return f"{who}, {self.model}, clip {self.clip}, noise {self.noise:g}"


@dataclass(frozen=True)
class Round:
    """What the server saw in a round.

    `excluded` is whether the attacker was, `falsely` how many honest sites were, and `inside` whether the aggregate
    lay, coordinate by coordinate, between the lowest and the highest message of the honest sites.
    """

    checked: Checked
    excluded: bool
    falsely: int
    inside: bool


def sites(rows: int, split: str, seed: int) -> list[Site]:
    """Return features in [-1, 1] and targets of 10 sites.

    `split` is ``country``, ``labels`` (Dirichlet .5 over tenths of the target) or ``quantity`` (Dirichlet .5 over
    sizes, 100 rows at least).
    """
    frame = generate(rows, seed)
    numbers = [2 * (frame[name] - low) / (high - low) - 1 for name, (low, high) in BOUNDS.items()]
    places = {name: dict(zip(kinds, np.linspace(-1, 1, len(kinds)), strict=True)) for name, kinds in ORDERS.items()}
    orders = [frame[name].map(place) for name, place in places.items()]
    features = np.stack([*numbers, *orders], axis=1).astype(np.float64)
    targets = frame["Target_Severity_Score"].to_numpy()
    draw = stream(seed, f"bench:{split}")
    if split == "country":
        site = frame["Country_Region"].map({name: i for i, name in enumerate(COUNTRIES)}).to_numpy()
    elif split == "labels":
        tenth = np.searchsorted(np.quantile(targets, np.arange(0.1, 1, 0.1)), targets)
        shares = draw.dirichlet(np.full(10, 0.5), 10).cumsum(axis=1)
        site = np.minimum((draw.random(rows)[:, None] > shares[tenth]).sum(axis=1), 9)
    else:
        sizes = 100 + draw.multinomial(rows - 1000, draw.dirichlet(np.full(10, 0.5)))
        site = np.repeat(np.arange(10), sizes)[draw.permutation(rows)]
    return [(features[site == number], targets[site == number]) for number in range(10)]


def layout(features: int, hidden: int) -> Layout:
    """Return the layers of a linear model, or of a network of one hidden layer."""
    if not hidden:
        return Layout(("weight", "bias"), ((features, 1), (1,)))
    shapes = ((features, hidden), (hidden,), (hidden, 1), (1,))
    return Layout(("hidden.weight", "hidden.bias", "out.weight", "out.bias"), shapes)


def train(start: FloatArray, where: Layout, site: Site, draw: np.random.Generator, rate: float = 0.05) -> FloatArray:
    """Return the update of one epoch of SGD on the squared error."""
    features, targets = site
    weights = start.copy()
    layers = where.arrays(weights)  # views: steps on them are steps of `weights`
    order = draw.permutation(len(targets))
    for first in range(0, len(order), BATCH):
        batch = order[first : first + BATCH]
        inputs, goal = features[batch], targets[batch, None]
        if len(layers) == 2:
            error = 2 * (inputs @ layers[0] + layers[1] - goal) / len(batch)
            gradients = [inputs.T @ error, error.sum(0)]
        else:
            active = np.maximum(inputs @ layers[0] + layers[1], 0)
            error = 2 * (active @ layers[2] + layers[3] - goal) / len(batch)
            back = (error @ layers[2].T) * (active > 0)
            gradients = [inputs.T @ back, back.sum(0), active.T @ error, error.sum(0)]
        for layer, gradient in zip(layers, gradients, strict=True):
            np.subtract(layer, rate * gradient, out=layer)
    return weights - start


def first_weights(where: Layout, draw: np.random.Generator) -> FloatArray:
    """Return uniform first weights of the size usual for a layer's inputs."""
    parts = [draw.uniform(-1, 1, shape) / np.sqrt(max(shape[0], 12)) for shape in where.shapes]
    return where.flat(parts)


def federate(setting: Setting, seed: int) -> Iterator[Round]:
    """Train, attack, clip, add noise, check, aggregate; yield what each round came to."""
    attack = ATTACKS.get(setting.attack)
    bad = np.array([attack is not None and client in attack.clients for client in CLIENTS])
    parts = sites(setting.rows, setting.split, seed)
    if attack:
        parts = [
            (features, attacked_numbers(attack, targets, LOW, HIGH) if attacks else targets)
            for (features, targets), attacks in zip(parts, bad, strict=True)
        ]
    draw = stream(seed, "bench:federate")
    where = layout(parts[0][0].shape[1], HIDDEN[setting.model])
    weights = first_weights(where, draw)
    known = np.full(len(CLIENTS), setting.noise) if setting.noise else None
    streaks: dict[str, int] = {}
    for _ in range(setting.rounds):
        updates = np.stack([train(weights, where, site, draw) for site in parts])
        if attack:
            updates[bad] = [attacked_update(attack, update, draw) for update in updates[bad]]
        if setting.clip:
            updates = norm_bounded(updates, setting.clip)
        updates = updates + draw.normal(0, setting.noise, updates.shape)
        checked = check(setting.drift, where, CLIENTS, weights + updates, noise=known, streaks=streaks)
        step = aggregate(
            Aggregation(rule=setting.rule), weights, updates, np.full(len(CLIENTS), 0.1), factors=checked.factors
        )
        weights, streaks, honest = step.weights, checked.streaks, updates[~bad]
        inside = bool(((step.update >= honest.min(0)) & (step.update <= honest.max(0))).all())
        yield Round(checked, bool(checked.excluded[bad].any()), int(checked.excluded[~bad].sum()), inside)


def attacked(setting: Setting, seeds: int) -> tuple[float, float, float]:
    """Return the shares of seeds in which the attacker was excluded at once, in some round, and did no harm.

    It did no harm where in every round it was excluded, or the aggregate lay in the honest sites' hull.
    """
    found = []
    for seed in range(seeds):
        run = list(federate(setting, seed))
        caught = [each.excluded for each in run]
        found.append((caught[0], any(caught), all(each.excluded or each.inside for each in run)))
    at_once, ever, harmless = np.mean(found, axis=0)
    return float(at_once), float(ever), float(harmless)


def falsely_excluded(setting: Setting, seeds: int) -> float:
    """Return the share of site-rounds in which an honest site was excluded."""
    return float(np.mean([each.falsely for seed in range(seeds) for each in federate(setting, seed)])) / len(CLIENTS)


def figures(setting: Setting, seeds: int = 24) -> Iterator[tuple[bool, str]]:
    """Yield every figure of a model and a level of noise in words, with whether it is within its limit."""
    for attack, clip in product(ATTACKS, (None, CLIP)):
        one = replace(setting, attack=attack, clip=clip)
        at_once, ever, harmless = attacked(one, seeds)
        held = ever if clip is None else max(ever, harmless)
        told = f"{one}: excluded in {ever:.0%} of seeds, at once in {at_once:.0%}; harmless in {harmless:.0%}"
        yield held >= CAUGHT, told
    for split in ("labels", "quantity"):
        one = replace(setting, split=split)
        falsely = falsely_excluded(one, seeds)
        yield falsely < FALSELY, f"{one}: excluded in {falsely:.1%} of site-rounds"


def spoilt(trainings: int) -> tuple[int, float]:
    """Return in how many trainings of the default run an honest hospital was left out, and what share of site-rounds.

    All are on what the hospitals publish, with first weights of their own and fresh noise.
    """
    composed = compose_run([])
    config: Any = composed.config
    table = read(config.dataset, config.dataset.source, composed.base).table
    clients = partition(config.federation.clients, table, config.seed)
    own = honest_sites(table, clients, config.seed)
    found = harmonise(config.federation.harmonising, config.anonymization, own, read_given(composed), clients.column)
    some = Sites(
        {part.site.name: part.release.training for part in found.sites},
        {part.site.name: part.release.after.risk.arirec for part in found.sites},
    )
    left_out = []
    for seed in range(trainings):
        done = train_together(config.federation, config.dp, config.model, some, seed)
        checks = [each.closed.checked for each in done.training.rounds if each.closed.checked is not None]
        left_out.append(np.mean([each.excluded for each in checks]))
    return int(np.count_nonzero(left_out)), float(np.mean(left_out))


def default_run(trainings: int = 300) -> tuple[bool, str]:
    """Return how often the default run leaves an honest hospital out, with whether that is within its limit."""
    some, share = spoilt(trainings)
    told = f"default run: honest hospitals left out in {some} of {trainings} trainings, {share:.2%} of site-rounds"
    return some <= SPOILT * trainings, told


def all_figures(drift: Drift | None = None, seeds: int = 24) -> Iterator[tuple[bool, str]]:
    """Yield the figures of both models, without noise and with it."""
    for model, noise in product(HIDDEN, (0.0, NOISE)):
        yield from figures(Setting(model, noise=noise, drift=drift or Drift()), seeds)
    if drift is None:
        yield default_run()


def proof(_work: Path) -> Verdict:
    """Check every figure at full size."""
    found = list(all_figures())
    missed = [told for held, told in found if not held]
    told = f"{len(found) - len(missed)} of {len(found)} figures within limits"
    return Verdict(not missed, "; ".join([told, *missed]))


if __name__ == "__main__":
    for held, told in all_figures():
        print("holds " if held else "MISSED", told, flush=True)
