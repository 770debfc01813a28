"""Re-identification risk of a released table, from the sizes of its equivalence classes alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

THRESHOLDS: dict[str, int] = {"0.09": 11, "0.2": 5, "0.5": 2}
"""Published risk thresholds and the class size each stands for: a record exceeds one when its class is smaller.

0.09 is the usual way to write 1/11, the smallest cell of eleven that health data releases ask for.
"""


@dataclass(frozen=True, slots=True)
class ReleaseRisk:
    """How likely records are re-identified by someone who knows a person's quasi-identifiers and that they are in.

    Fully suppressed records are in no class and left out of every figure but `suppressed_share`. A record is a
    row or, where a subject id is declared, a person in a class.

    Parameters
    ----------
    prosecutor_max, prosecutor_mean : float
        Largest and mean 1/|E| over records.
    above : dict of str to float
        Share of records in classes too small for a threshold (see `THRESHOLDS`).
    marketer : float
        Expected share of records re-identified when all are attacked: classes / records.
    arirec : float
        Mean of 1/|E| over classes, however many records each holds.
    suppressed_share : float
        Share of rows that are fully suppressed.
    """

    prosecutor_max: float
    prosecutor_mean: float
    above: dict[str, float]
    marketer: float
    arirec: float
    suppressed_share: float


def release_risk(class_sizes: npt.NDArray[np.integer[Any]], suppressed_share: float = 0.0) -> ReleaseRisk:
    """Measure re-identification risk from class sizes.

    Parameters
    ----------
    class_sizes : ndarray of int, shape (classes,)
        Records in each class, without fully suppressed ones. Without classes there is no record at risk and
        every figure is 0.
    suppressed_share : float, optional
        Share of rows that are fully suppressed; passed through.

    Returns
    -------
    ReleaseRisk

    Notes
    -----
    Prosecutor and marketer risk: El Emam, Guide to the De-Identification of Personal Health Information (2013).
    With every record attacked, the mean prosecutor risk and the marketer risk coincide: both are classes/records.
    """
    if not len(class_sizes):
        return ReleaseRisk(0.0, 0.0, dict.fromkeys(THRESHOLDS, 0.0), 0.0, 0.0, suppressed_share)
    records = int(class_sizes.sum())
    mean = len(class_sizes) / records
    return ReleaseRisk(
        prosecutor_max=1.0 / int(class_sizes.min()),
        prosecutor_mean=mean,
        above={name: int(class_sizes[class_sizes < least].sum()) / records for name, least in THRESHOLDS.items()},
        marketer=mean,
        arirec=float(np.mean(1.0 / class_sizes)),
        suppressed_share=suppressed_share,
    )
