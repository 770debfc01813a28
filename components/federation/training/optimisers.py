"""SGD with momentum and Adam over stacked clients, as torch defines them; torch's own take seconds to import."""

from collections.abc import Callable

import numpy as np

from components.federation.training.reals import Precision, Reals
from components.federation.work import LocalTraining

Step = Callable[[Reals, Reals], None]
"""Takes weights and gradient, shape (clients, size): moves the first, and may overwrite the second.

Clients that are done leave from the end, so that a later call may bring fewer.
"""

FIRST, SECOND, LEAST = 0.9, 0.999, 1e-8
"""Adam's beta_1, beta_2 and epsilon (Kingma and Ba, arXiv 1412.6980, algorithm 1)."""


def optimiser(options: LocalTraining, shape: tuple[int, int], precision: Precision) -> Step:
    """Return a new optimiser for weights of shape (clients, size)."""
    if options.optimizer == "adam":
        return _adam(options.learning_rate, shape, precision)
    return _sgd(options.learning_rate, options.momentum, shape, precision)


def _sgd(rate: float, momentum: float, shape: tuple[int, int], precision: Precision) -> Step:
    velocity = np.zeros(shape, precision) if momentum else None

    def step(weights: Reals, gradient: Reals) -> None:
        if velocity is not None:
            gathered = velocity[: len(weights)]
            gathered *= momentum
            gathered += gradient
            gradient[...] = gathered
        gradient *= rate
        weights -= gradient

    return step


def _adam(rate: float, shape: tuple[int, int], precision: Precision) -> Step:
    means, squares, spare = (np.zeros(shape, precision) for _ in range(3))
    taken = 0

    def step(weights: Reals, gradient: Reals) -> None:
        nonlocal taken
        taken += 1
        mean, square, root = (each[: len(weights)] for each in (means, squares, spare))
        mean *= FIRST
        np.multiply(gradient, 1 - FIRST, out=root)
        mean += root
        square *= SECOND
        gradient *= gradient
        gradient *= 1 - SECOND
        square += gradient
        np.multiply(square, 1 / (1 - SECOND**taken), out=root)
        np.sqrt(root, out=root)
        root += LEAST
        np.divide(mean, root, out=gradient)
        gradient *= rate / (1 - FIRST**taken)
        weights -= gradient

    return step
