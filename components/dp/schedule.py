"""What a run will release, before anything is trained."""

from math import ceil

from components.dp.releases import Releases


def steps(rows: int, batch_size: int, epochs: int) -> int:
    """Return the steps of a client's training in one round: ``epochs * ceil(rows / batch_size)``."""
    return epochs * ceil(rows / batch_size)


def per_record(rows: int, batch_size: int, epochs: int, rounds: int, units: float = 1.0) -> tuple[Releases, ...]:
    """Return what DP-SGD on Poisson batches releases, with a multiplier of 1.

    Parameters
    ----------
    rows : int
        Of the client; without rows nothing is released.
    batch_size, epochs : int
        Of a round.
    rounds : int
        That the client takes part in; each empty batch of theirs counts too.
    units : float, optional
        Sensitivity in clips: 1, or 2 where a record is replaced.

    Returns
    -------
    tuple of Releases
    """
    times = rounds * steps(rows, batch_size, epochs)
    return (Releases(1.0, min(batch_size / rows, 1.0), times, units),) if times else ()


def per_record_shuffled(rows: int, epochs: int, rounds: int, units: float = 1.0) -> tuple[Releases, ...]:
    """Return what fixed batches of shuffled rows release: no sampling, and each record once a pass.

    They don't earn the figures of Poisson batches (Chua et al., arXiv 2403.17673).
    """
    times = rounds * epochs if rows else 0
    return (Releases(1.0, 1.0, times, units),) if times else ()


def per_update(rounds: int, units: float, vote_noise: float | None = None, weight: float = 1.0) -> tuple[Releases, ...]:
    """Return what noised updates release, with a multiplier of 1, and an adaptive clip's votes after them.

    Parameters
    ----------
    rounds : int
        That the client takes part in.
    units : float
        Sensitivity in clips (see `components.dp.sensitivity`).
    vote_noise : float, optional
        Multiplier of the votes over that of the updates; None where the clip is fixed.
    weight : float, optional
        Of the client's update over the largest weight of all, whom the noise is for; votes are all alike.
    """
    updates = (Releases(1.0, 1.0, rounds, units * weight),) if weight else ()
    votes = (Releases(vote_noise, 1.0, rounds, units),) if vote_noise is not None else ()
    return updates + votes if rounds else ()
