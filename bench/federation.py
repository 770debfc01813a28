"""Processor time of the embedded engine, as ratios within one run: beside a plain loop of torch, Opacus, and products.

A round of 10 clients with 5,000 rows each, a network of 15-64-32-1, one local epoch in batches of 64, in one thread.
``python -m bench.federation``.
"""

import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from bench.clock import seconds
from bench.points import Verdict
from components.dp.noise import Noise
from components.federation.training import Dense, Stacked
from components.federation.training.dense_pass import Backend, product_of
from components.federation.work import LocalTraining, PerRecord, Work
from components.models.torch_modules import MLP

NETWORK = Dense(15)
OPTIONS = LocalTraining()
CLIENTS, ROWS = 10, 5_000
MANY = (100, 1_000)
LOOP_LIMIT = 8.0
"""Times that the plain loop must take."""

OPACUS_LIMIT = 30.0
"""Times that Opacus, client after client, must take."""

GROWTH_LIMIT = 1.3
"""Of the time of one client among 100 or 1,000 to that of one among 10."""

BACKENDS: tuple[Backend, ...] = ("numpy", "torch")


def works(clients: int = CLIENTS, *, private: bool = False) -> list[Work]:
    """Make clients up; beyond the first ten they share the tables of those."""
    random = np.random.default_rng(0)
    tables = [random.random((ROWS, NETWORK.inputs), dtype=np.float32) for _ in range(min(clients, CLIENTS))]
    privacy = PerRecord(1.0, 1.0, Noise.from_entropy()) if private else None
    slopes = np.linspace(-1, 1, NETWORK.inputs, dtype=np.float32)
    made = [(table, table @ slopes) for table in tables]
    return [Work(str(at), *made[at % CLIENTS], at, privacy=privacy) for at in range(clients)]


def stacked(clients: list[Work], backend: Backend = "numpy") -> None:
    """Train clients for a round by our engine."""
    Stacked(backend=backend).train(NETWORK, NETWORK.initial(0), clients, OPTIONS)


def looped(clients: list[Work]) -> None:
    """Train them as anybody would: a module, an optimiser and a loop over batches each."""
    for work in clients:
        features, targets = torch.from_numpy(work.features), torch.from_numpy(work.targets)
        module = MLP(NETWORK.inputs, 1)
        optimiser = torch.optim.SGD(module.parameters(), lr=OPTIONS.learning_rate)
        order = torch.randperm(len(targets), generator=torch.Generator().manual_seed(work.seed))
        for batch in order.split(OPTIONS.batch_size):
            optimiser.zero_grad()
            functional.mse_loss(module(features[batch]).reshape(-1), targets[batch]).backward()
            optimiser.step()


def opacus(clients: list[Work]) -> None:
    """Train them with record-level privacy by Opacus, one after the other."""
    from opacus import PrivacyEngine

    for work in clients:
        rows = TensorDataset(torch.from_numpy(work.features), torch.from_numpy(work.targets))
        module = MLP(NETWORK.inputs, 1)
        module, optimiser, loader = PrivacyEngine().make_private(
            module=module,
            optimizer=torch.optim.SGD(module.parameters(), lr=OPTIONS.learning_rate),
            data_loader=DataLoader(rows, batch_size=OPTIONS.batch_size),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )
        for features, targets in loader:
            optimiser.zero_grad()
            functional.mse_loss(module(features).reshape(-1), targets).backward()
            optimiser.step()


def products(backend: Backend = "numpy") -> None:
    """Compute the matrix products that a round needs, and nothing else."""
    product = product_of(backend)
    random = np.random.default_rng(0)
    rows = [random.random((CLIENTS, OPTIONS.batch_size, width)) for width in NETWORK.widths]
    weights = [random.random((CLIENTS, *shape)) for shape in NETWORK.layout.shapes[::2]]
    forward, back = [np.empty_like(each) for each in rows], [np.empty_like(each) for each in weights]
    for _ in range(-(-ROWS // OPTIONS.batch_size)):
        for at, weight in enumerate(weights):
            product(rows[at], weight.transpose(0, 2, 1), forward[at + 1])
            product(rows[at + 1].transpose(0, 2, 1), rows[at], back[at])
            if at:
                product(rows[at + 1], weight, forward[at])


def fastest(call: Callable[[], object], repeats: int = 5) -> float:
    """Return the ms of the fastest of some calls, after one that is not counted."""
    call()
    return 1e3 * min(seconds(call) for _ in range(repeats))


def measured() -> list[tuple[bool, str]]:
    """Measure everything: whether each figure is within its limit, and the figure in a line."""
    torch.set_num_threads(1)
    plain, private = works(), works(private=True)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Opacus: that its noise is no secure one, and the hooks of its torch
        bare = {backend: fastest(partial(products, backend)) for backend in BACKENDS}
        ours = {backend: fastest(partial(stacked, plain, backend)) for backend in BACKENDS}
        loop = fastest(partial(looped, plain), 3)
        noised = fastest(partial(stacked, private))
        theirs = fastest(partial(opacus, private), 1)
        many = {count: fastest(partial(stacked, works(count)), 1) for count in MANY}
        many_noised = {count: fastest(partial(stacked, works(count, private=True)), 1) for count in MANY}
    lines = [
        (True, f"products alone by {backend}: {bare[backend]:.0f} ms a round; a round {ours[backend]:.0f} ms")
        for backend in BACKENDS
    ]
    ratio = loop / ours["numpy"]
    lines.append((ratio >= LOOP_LIMIT, f"plain loop of torch: {loop:.0f} ms, {ratio:.1f} x ours"))
    ratio = theirs / noised
    lines.append((ratio >= OPACUS_LIMIT, f"Opacus: {theirs:,.0f} ms, {ratio:.0f} x ours ({noised:.0f} ms)"))
    for what, one, found in (("", ours["numpy"], many), (" with record-level privacy", noised, many_noised)):
        for count, taken in found.items():
            grown = taken / count / (one / CLIENTS)
            line = f"{count:,} clients{what}: {taken:,.0f} ms a round, {grown:.2f} x the time a client of 10"
            lines.append((grown <= GROWTH_LIMIT, line))
    return lines


def proof(_work: Path) -> Verdict:
    """Time beside the loop, Opacus and the number of clients, within their limits."""
    lines = measured()
    return Verdict(all(holds for holds, _ in lines), "; ".join(line for _, line in lines))


def main() -> int:
    """Print every figure; 1 when one is over its limit."""
    lines = measured()
    for holds, line in lines:
        sys.stdout.write(f"federation, {line}{'' if holds else ' (over its limit)'}\n")
    return 0 if all(holds for holds, _ in lines) else 1


if __name__ == "__main__":
    raise SystemExit(main())
