"""Training of a torch module on encoded rows: batches, early stopping, and nothing left behind.

Everything runs on one device and, on the CPU, in one thread, since a sum over several threads depends on their number;
the tables here are small beside what a core does in a second.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from math import inf, isfinite

import torch
from torch import nn
from torch.nn import functional

from components.models.declarations import TorchTraining
from schemas.faults import ConfigurationError, Fault

CHUNK = 8192
"""Rows that are put through a network at once where nothing is learned."""

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Rows:
    """Encoded rows on one device.

    Parameters
    ----------
    features : torch.Tensor, shape (rows, features)
    numbers : torch.Tensor, shape (rows,)
        int64 class positions, or floats.
    """

    features: torch.Tensor
    numbers: torch.Tensor

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.numbers)

    def at(self, positions: torch.Tensor | slice) -> "Rows":
        """Return some rows."""
        return Rows(self.features[positions], self.numbers[positions])


@contextmanager
def contained(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's own generators, which layers draw from, and use one thread; both are as before afterwards."""
    devices = [device.index or 0] if device.type == "cuda" else []
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)
        if devices:
            torch.cuda.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


def train(module: nn.Module, rows: Rows, loss: Loss, options: TorchTraining, seed: int) -> list[str]:
    """Train a module in place.

    A share of the rows is held out; training ends when the loss on them has not fallen for `patience` epochs, and the
    weights of the best epoch are restored. With nothing held out, every epoch is run.

    Parameters
    ----------
    module : torch.nn.Module
        On the device of `rows`.
    rows : Rows
        In random order: the last ones are held out.
    loss : callable
        Takes what the module puts out and `numbers`; gives the mean over the rows.
    options : TorchTraining
    seed : int
        Of the order of the batches.

    Returns
    -------
    list of str
        What a reader should know.

    Raises
    ------
    ConfigurationError
        The loss became no finite number.
    """
    held = min(round(len(rows) * options.validation), len(rows) - 1)
    learned, judged = rows.at(slice(len(rows) - held)), rows.at(slice(len(rows) - held, None))
    optimizer = _optimizer(module, options)
    order = torch.Generator().manual_seed(seed)
    best, best_epoch, best_state = inf, 0, None
    for epoch in range(options.epochs):
        mean = _epoch(module, learned, loss, optimizer, options, order)
        judgement = evaluated(module, judged, loss) if held else mean
        if not isfinite(judgement):
            problem = f"the loss is no finite number after {epoch + 1} epochs"
            raise ConfigurationError(Fault("model.learning_rate", problem, remedy="lower it"))
        if not held:
            continue
        if judgement < best:
            best, best_epoch, best_state = judgement, epoch, deepcopy(module.state_dict())
        elif epoch - best_epoch >= options.patience:
            break
    module.eval()
    if best_state is None:
        return []
    module.load_state_dict(best_state)
    if options.epochs > 1 and best_epoch == options.epochs - 1:
        return [f"the loss on held-out rows was still falling after {options.epochs} epochs; raise model.epochs"]
    return []


def evaluated(module: nn.Module, rows: Rows, loss: Loss) -> float:
    """Return the mean loss over rows that nothing is learned from."""
    module.eval()
    with torch.no_grad():
        parts = [rows.at(slice(start, start + CHUNK)) for start in range(0, len(rows), CHUNK)]
        total = sum(float(loss(module(part.features), part.numbers)) * len(part) for part in parts)
    return total / len(rows)


def put_through(module: nn.Module, features: torch.Tensor) -> torch.Tensor:
    """Return what a module in evaluation mode puts out, in chunks of rows and in the precision of its weights."""
    dtype = precision(module)
    module.eval()
    with torch.no_grad():
        return torch.cat([module(part.to(dtype)) for part in torch.split(features, CHUNK)])


def precision(module: nn.Module) -> torch.dtype:
    """Return the precision of a module's weights; single where it has none."""
    return next((weight.dtype for weight in module.parameters() if weight.is_floating_point()), torch.float32)


def class_loss(outputs: str) -> Loss:
    """Return the cross entropy of ``"logits"`` or ``"probabilities"``; one column is of the last of two classes."""
    least = torch.finfo(torch.float32).tiny

    def of_logits(found: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        if _single(found):
            return functional.binary_cross_entropy_with_logits(found.reshape(-1), numbers.to(found.dtype))
        return functional.cross_entropy(found, numbers)

    def of_probabilities(found: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        if _single(found):
            found = torch.stack([1 - found.reshape(-1), found.reshape(-1)], dim=1)
        return functional.nll_loss(found.clamp_min(least).log(), numbers)

    return of_logits if outputs == "logits" else of_probabilities


def square_loss(found: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error."""
    return functional.mse_loss(found.reshape(-1), numbers.to(found.dtype))


def _single(found: torch.Tensor) -> bool:
    return found.ndim == 1 or found.shape[1] == 1


def _epoch(
    module: nn.Module,
    rows: Rows,
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    options: TorchTraining,
    order: torch.Generator,
) -> float:
    """Take one step per batch; return the mean loss over the rows.

    Batches are cut evenly, since a last one of a single row has no deviation that a normalising layer could use.
    """
    module.train()
    batches = -(-len(rows) // options.batch_size)
    total = 0.0
    for positions in torch.randperm(len(rows), generator=order).tensor_split(batches):
        batch = rows.at(positions.to(rows.numbers.device))
        optimizer.zero_grad()
        value = loss(module(batch.features), batch.numbers)
        value.backward()  # type: ignore[no-untyped-call]
        if options.clip_norm is not None:
            nn.utils.clip_grad_norm_(module.parameters(), options.clip_norm)
        optimizer.step()
        total += value.item() * len(batch)
    return total / len(rows)


def _optimizer(module: nn.Module, options: TorchTraining) -> torch.optim.Optimizer:
    chosen = torch.optim.Adam if options.optimizer == "adam" else torch.optim.SGD
    decay = options.weight_decay
    return chosen(module.parameters(), lr=options.learning_rate, weight_decay=decay, foreach=True)  # half the time
