"""How figures and limits of criteria stand in messages: with the digits that make it true. Light to import."""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

TOLERANCE = 1e-9
"""Figures that differ by no more count as equal: so much is left to rounding."""

_DIGITS = (6, 9, 12, 17)
"""Significant digits of figures: six, or more where six don't tell enough."""

_EXACT = 2.0**53
"""Whole numbers below are exact."""


def limit_text(limit: float) -> str:
    """Return a limit that a configuration asks for, with all its digits."""
    short = f"{limit:.6g}"
    if float(short) == limit and "e+" not in short:
        return short
    return f"{limit:.0f}" if float(limit).is_integer() and abs(limit) < _EXACT else repr(float(limit))


def figure_text(figure: float, beside: float | None = None) -> str:
    """Return a figure as messages show it, with as many digits as tell it from the limit `beside` it."""
    if math.isinf(figure):
        return "infinite"
    shown = (f"{figure:.{digits}g}" for digits in _DIGITS)
    return next((text for text in shown if float(text) != beside), limit_text(figure))


def bound_text(figure: float, *, up: bool, admits: Callable[[float], bool] = lambda _: True) -> str:
    """Return a figure as a bound that a limit may be set to: rounded to the side that can be reached.

    Parameters
    ----------
    figure : float
        What can be reached.
    up : bool
        Whether limits above the figure will do, or those below it.
    admits : callable, optional
        Tells whether the configuration takes a limit.

    Returns
    -------
    str
        Empty where no limit will do.
    """
    if math.isinf(figure):
        return ""
    for digits in _DIGITS:
        bound = float(f"{figure:.{digits}g}")
        if abs(bound - figure) > TOLERANCE * min(1.0, abs(figure)):
            rounding = ROUND_CEILING if up else ROUND_FLOOR
            bound = float(Context(prec=digits, rounding=rounding).create_decimal_from_float(figure))
        if admits(bound):
            return limit_text(bound)
    return ""
