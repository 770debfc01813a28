"""What simulated attackers do to their targets and to their updates."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from components.federation.attacks.declarations import Attack, Gaussian, LabelFlip, Lazy, Scaling, SignFlip
from components.federation.layout import Weights

Real = TypeVar("Real", bound=np.floating)
Whole = TypeVar("Whole", bound=np.integer)


def attacked_numbers(attack: Attack, targets: npt.NDArray[Real], low: float, high: float) -> npt.NDArray[Real]:
    """Return the numbers that the client trains on: ``low + high - y`` where labels are flipped.

    Parameters
    ----------
    attack : Attack
    targets : ndarray of float, shape (rows,)
    low, high : float
        The ends of the target's domain.

    Returns
    -------
    ndarray of float, shape (rows,)
        Of the same type; the same array where the attack leaves targets alone.
    """
    return (low + high - targets).astype(targets.dtype) if isinstance(attack, LabelFlip) else targets


def attacked_classes(attack: Attack, targets: npt.NDArray[Whole], classes: int) -> npt.NDArray[Whole]:
    """Return the class positions that the client trains on: in reverse order where labels are flipped.

    Parameters
    ----------
    attack : Attack
    targets : ndarray of int, shape (rows,)
        Positions 0 to ``classes - 1``.
    classes : int

    Returns
    -------
    ndarray of int, shape (rows,)
        Of the same type; the same array where the attack leaves targets alone.
    """
    return (classes - 1 - targets).astype(targets.dtype) if isinstance(attack, LabelFlip) else targets


def attacked_update(attack: Attack, update: Weights, draw: np.random.Generator) -> Weights:
    """Return the update that the client sends, before anything clips it or adds privacy noise.

    Parameters
    ----------
    attack : Attack
    update : ndarray, shape (size,)
        What it trained.
    draw : numpy.random.Generator
        Noise of the ``gaussian`` attack, which is no privacy noise.

    Returns
    -------
    ndarray, shape (size,)
        The same array where the attack leaves the update alone.
    """
    match attack:
        case SignFlip():
            return -update
        case Scaling():
            return attack.factor * update
        case Gaussian():
            return update + draw.normal(0.0, attack.std, update.shape)
        case Lazy():
            return np.zeros_like(update)
        case _:
            return update
