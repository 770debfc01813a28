"""What harmonisation comes to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from components.anonymization.measurement import Measurement
from components.anonymization.release import Release
from components.data.table import Table
from components.federation.harmonising.asking import Kind, Levels
from components.federation.sites import Site
from schemas.faults import Fault


@dataclass(frozen=True, slots=True)
class Told:
    """What one site tells the server in one message. Nothing else of its table leaves it.

    Parameters
    ----------
    site : str
    kind : str
        ``hierarchies`` (digest by column), ``optimum`` (its own best levels, and what they lose), ``unreachable`` (that
        it reaches the criteria nowhere, and nothing else), ``weights`` (its rows, which weigh its loss, the levels that
        may be used, and what each column adds to a loss on each), ``node`` (whether levels that were proposed fit, and
        what they lose), ``measured`` (what it reaches on what it publishes).
    content : dict or None
        JSON-able, without cell values.
    """

    site: str
    kind: Kind
    content: Any


@dataclass(frozen=True, slots=True)
class Harmonised:
    """One site's rows as it publishes them.

    Parameters
    ----------
    site : Site
    own : mapping of str to int
        The levels that lose least at this site alone.
    own_loss : float
        What they lose there.
    levels : mapping of str to int
        The levels that it publishes on.
    release : Release
        At these levels, measured as it stands.
    """

    site: Site
    own: Levels
    own_loss: float
    levels: Levels
    release: Release

    @property
    def loss(self) -> float:
        """ARX's Loss of what is published."""
        return float(self.release.transformation["loss"])


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A site that can't reach the criteria.

    Parameters
    ----------
    site : Site
    faults : tuple of Fault
        What holds it back.
    """

    site: Site
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Harmonisation:
    """The rows of all sites, anonymised on levels that they agreed on.

    Parameters
    ----------
    sites : tuple of Harmonised
        In the sites' order, those that were left out missing.
    left_out : tuple of LeftOut
    levels : mapping of str to int, or None
        Of all sites; None where each has its own.
    pooled : Table
        What all sites publish, one below the other. A column that some site publishes as text is text.
    before, after : Measurement
        Of the pooled rows, raw and as published. Criteria hold at every site; pooled, some may not.
    seen : callable, or None
        Brings any site's table (test rows, rows to come) into the input space of all; it follows from schema,
        hierarchies and levels alone. None where each site has levels of its own.
    told : tuple of Told
        Every message of a site to the server, in order.
    facts : dict
        How the levels were found: JSON-able.
    warnings : tuple of str
        What a user should know, without cell values.
    """

    sites: tuple[Harmonised, ...]
    left_out: tuple[LeftOut, ...]
    levels: Levels | None
    pooled: Table
    before: Measurement
    after: Measurement
    seen: Callable[[Table], Table] | None
    told: tuple[Told, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
