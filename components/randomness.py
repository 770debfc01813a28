"""One root seed, one stream per purpose: a change in one stage moves no other."""

from hashlib import sha256

import numpy as np


def derived_seed(root: int, stage: str, client: str = "", round_number: int = 0) -> int:
    """Derive the seed of one purpose from the root seed.

    Parameters
    ----------
    root : int
        The run's ``seed``.
    stage : str
        What the stream is for, such as ``"split"``.
    client : str, optional
        The site it belongs to.
    round_number : int, optional
        The federated round it belongs to.

    Returns
    -------
    int
        In [0, 2**32), as scikit-learn asks of a ``random_state``.
    """
    name = repr((int(root), stage, client, int(round_number))).encode()
    return int.from_bytes(sha256(name).digest()[:4], "big")


def stream(root: int, stage: str, client: str = "", round_number: int = 0) -> np.random.Generator:
    """Return the random stream of one purpose (see `derived_seed`)."""
    return np.random.default_rng(derived_seed(root, stage, client, round_number))
