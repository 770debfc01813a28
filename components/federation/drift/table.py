"""The drift checks of all rounds as one table."""

from collections.abc import Iterable

import pandas as pd

from components.federation.drift.check import Checked

COLUMNS = ("round", "client", "score", "threshold", "within_noise", "flagged", "excluded", "weight")


def table(rounds: Iterable[tuple[int, Checked]]) -> pd.DataFrame:
    """Return one row a round and client.

    Parameters
    ----------
    rounds : iterable of (int, Checked)
        Round numbers with what was found.

    Returns
    -------
    pandas.DataFrame
        Columns as in ``COLUMNS``; ``weight`` is what the client's weight in the aggregation was multiplied by.
    """
    frames = [
        pd.DataFrame(
            {
                "round": number,
                "client": list(checked.clients),
                "score": checked.scores,
                "threshold": checked.threshold,
                "within_noise": checked.within_noise,
                "flagged": checked.flagged,
                "excluded": checked.excluded,
                "weight": checked.factors,
            }
        )
        for number, checked in rounds
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))
