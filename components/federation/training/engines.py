"""The two embedded engines: clients in stacks, or one after the other."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from components.federation.layout import Weights
from components.federation.training.batches import steps_of
from components.federation.training.chunk import train_chunk
from components.federation.training.dense import Dense
from components.federation.training.dense_pass import Backend, DensePass, product_of
from components.federation.training.reals import Reals
from components.federation.work import Done, LocalTraining, Network, Work


@dataclass(frozen=True)
class Stacked:
    """Trains the clients of a dense network as stacks of arrays, a chunk at a time.

    Everything is computed in one thread and in double precision, which takes half as long again as single precision:
    there, the order in which products are summed moved weights by .003 within five epochs of SGD, here by 1e-14. Where
    clients have record-level privacy, noise is far above either, and single precision it is.

    Parameters
    ----------
    chunk : int
        Clients in one stack. With 10 to 20 what a step works on stays near the processor.
    backend : {"numpy", "torch"}
        Whose products of matrices are used.
    """

    chunk: int = 10
    backend: Backend = "numpy"

    def train(self, network: Network, start: Weights, works: list[Work], options: LocalTraining) -> list[Done]:
        """Train every client from `start`.

        Raises
        ------
        TypeError
            `network` is no `Dense`.
        ValueError
            Rows of another number of features than the network takes, or targets that it can't answer.
        """
        if not isinstance(network, Dense):
            raise TypeError("only a dense network can be stacked")
        for work in works:
            _check(work, network.inputs, network.outputs)
        product = product_of(self.backend)

        def make(weights: Reals, into: Reals) -> DensePass:
            return DensePass(network, weights, into, product)

        done: dict[int, Done] = {}
        with _one_thread(self.backend):
            for places in _chunks(works, options, self.chunk):
                some = [_joined(works[place], network) for place in places]
                precision = np.float64 if some[0].privacy is None else np.float32
                found = train_chunk(start[network.order], some, options, make, precision)
                done.update(zip(places, found, strict=True))
        return [_parted(done[place], network) for place in range(len(works))]


@dataclass(frozen=True)
class Looped:
    """Trains one client after the other by torch's own differentiation: any module, at ten times the cost or more.

    It takes a `Dense` as well, and comes to what `Stacked` comes to. Draws of a module while it learns, such as those
    of dropout, follow from the client's seed.
    """

    def train(self, network: Network, start: Weights, works: list[Work], options: LocalTraining) -> list[Done]:
        """Train every client from `start`; errors as of `Stacked.train`."""
        import torch

        from components.federation.training.autograd_pass import AutogradPass
        from components.federation.training.modules import ModuleNetwork
        from components.models.torch_training import contained

        if not isinstance(network, Dense | ModuleNetwork):
            raise TypeError("only a dense network or one of a torch module can be trained")
        done = []
        for work in works:
            _check(work, network.inputs, network.outputs)
            with contained(work.seed, torch.device("cpu")):
                done += train_chunk(start, [work], options, lambda weights, into: AutogradPass(network, weights, into))
        return done


def _chunks(works: list[Work], options: LocalTraining, size: int) -> Iterator[list[int]]:
    """Yield places of works that are trained side by side: alike in privacy, those with the most steps first."""
    steps = [steps_of(len(work.targets), options) for work in works]
    for private in (False, True):
        places = [place for place, work in enumerate(works) if (work.privacy is not None) is private]
        places.sort(key=lambda place: -steps[place])
        for first in range(0, len(places), size):
            yield places[first : first + size]


def _joined(work: Work, network: Dense) -> Work:
    return work if work.correction is None else replace(work, correction=work.correction[network.order])


def _parted(done: Done, network: Dense) -> Done:
    update = np.empty_like(done.update)
    update[network.order] = done.update
    return replace(done, update=update)


def _check(work: Work, inputs: int, outputs: int) -> None:
    if work.features.ndim != 2 or work.features.shape[1] != inputs:
        raise ValueError(f"{work.client}: rows of other than {inputs} features")
    if work.targets.shape != work.features.shape[:1]:
        raise ValueError(f"{work.client}: not one target a row")
    if outputs > 1 and len(work.targets) and not (work.targets.min() >= 0 and work.targets.max() < outputs):
        raise ValueError(f"{work.client}: targets that are no positions among {outputs} classes")


@contextmanager
def _one_thread(backend: Backend) -> Iterator[None]:
    """Use one thread, since a sum over several depends on their number."""
    with _libraries().limit(limits=1), ExitStack() as held:
        if backend == "torch":
            import torch

            held.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)
        yield


@cache
def _libraries() -> ThreadpoolController:
    """Return a handle on the libraries that products are computed by; finding them takes a step's time."""
    return ThreadpoolController()
