"""Ranges of numbers that several declarations share: within them every number has a meaning and an outcome."""

from typing import Annotated

from pydantic import Field

Multiplier = Annotated[float, Field(ge=1e-6, le=1e9)]
"""Standard deviation of noise over a clip: below, no noise that would be worth the word; above, nothing but noise."""

TargetEpsilon = Annotated[float, Field(ge=1e-4, le=1e4)]
"""An epsilon that noise is calibrated to."""

Budget = Annotated[float, Field(ge=1e-6, le=1e6)]
"""The largest epsilon of a client."""

Delta = Annotated[float, Field(ge=1e-15, lt=1)]
"""The delta of an epsilon: what privacy loss distributions can tell from rounding, and no more than all."""

Norm = Annotated[float, Field(ge=1e-9, le=1e9)]
"""A bound of an L2 norm."""

Rounds = Annotated[int, Field(ge=0, le=1_000_000)]
"""Rounds of training."""
