"""Activations and their slopes, in place and on arrays of any shape; formulas as in torch."""

from collections.abc import Callable
from math import pi, sqrt
from typing import Literal

import numpy as np
from scipy.special import expit, ndtr

from components.federation.training.reals import Reals

Activation = Literal["relu", "gelu", "silu", "tanh"]

Apply = Callable[[Reals, Reals], object]
"""Takes what goes in and an array of its shape: turns the first into what comes out, fills the second with slopes."""


def relu(values: Reals, slopes: Reals) -> None:
    """Turn z into max(z, 0); slope 0 at 0."""
    np.greater(values, 0, out=slopes, casting="unsafe")
    values *= slopes


def gelu(values: Reals, slopes: Reals) -> None:
    """Turn z into z Phi(z), exactly (Hendrycks and Gimpel, arXiv 1606.08415, section 2)."""
    below = ndtr(values)
    np.multiply(values, values, out=slopes)
    slopes *= -0.5
    np.exp(slopes, out=slopes)
    slopes *= values
    slopes /= sqrt(2 * pi)
    slopes += below
    values *= below


def silu(values: Reals, slopes: Reals) -> None:
    """Turn z into z / (1 + exp(-z)), the same paper's SiLU."""
    gate = expit(values)
    values *= gate
    np.subtract(1, gate, out=slopes)
    slopes *= values
    slopes += gate


def tanh(values: Reals, slopes: Reals) -> None:
    """Turn z into its hyperbolic tangent."""
    np.tanh(values, out=values)
    np.multiply(values, values, out=slopes)
    np.subtract(1, slopes, out=slopes)


ACTIVATIONS: dict[Activation, Apply] = {"relu": relu, "gelu": gelu, "silu": silu, "tanh": tanh}
