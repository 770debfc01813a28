"""Re-identification risk of a released table, from the sizes of its equivalence classes alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Sizes = npt.NDArray[np.integer[Any]]

THRESHOLDS: tuple[float, ...] = (0.09, 0.2, 0.5)
"""Published risk thresholds."""

_CELL_OF_ELEVEN = 0.09


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
        Share of records in classes too small for a threshold (see `least_size`).
    marketer : float
        Expected share of records re-identified when all are attacked: classes / records.
    arirec : float
        Mean of 1/|E| over classes, however many records each holds.
    suppressed_share : float
        Share of rows that are fully suppressed.
    sample_uniques : float
        Share of records that are alone in their class.
    """

    prosecutor_max: float
    prosecutor_mean: float
    above: dict[str, float]
    marketer: float
    arirec: float
    suppressed_share: float
    sample_uniques: float


def least_size(threshold: float) -> int:
    """Return the smallest class whose records do not exceed a risk threshold, 1/|E| <= threshold.

    0.09 is the usual way to write 1/11, the smallest cell of eleven that health data releases ask for; it stands for
    11, though 1/11 is 0.0909.

    Parameters
    ----------
    threshold : float
        In (0, 1].
    """
    if math.isclose(threshold, _CELL_OF_ELEVEN):
        return 11
    return math.ceil(1.0 / threshold - 1e-9)  # 1 / 0.1 and its like must not be rounded up


def release_risk(
    class_sizes: Sizes, suppressed_share: float = 0.0, thresholds: Sequence[float] = THRESHOLDS
) -> ReleaseRisk:
    """Measure re-identification risk from class sizes.

    Parameters
    ----------
    class_sizes : ndarray of int, shape (classes,)
        Records in each class, without fully suppressed ones. Without classes there is no record at risk and
        every figure is 0.
    suppressed_share : float, optional
        Share of rows that are fully suppressed; passed through.
    thresholds : sequence of float, optional
        Each in (0, 1]; ``above`` names them as they are written, such as ``"0.2"``.

    Returns
    -------
    ReleaseRisk

    Notes
    -----
    Prosecutor and marketer risk: El Emam, Guide to the De-Identification of Personal Health Information (2013).
    With every record attacked, the mean prosecutor risk and the marketer risk coincide: both are classes/records.
    """
    least = {f"{threshold:g}": least_size(threshold) for threshold in thresholds}
    if not len(class_sizes):
        return ReleaseRisk(0.0, 0.0, dict.fromkeys(least, 0.0), 0.0, 0.0, suppressed_share, 0.0)
    records = int(class_sizes.sum())
    mean = len(class_sizes) / records
    return ReleaseRisk(
        prosecutor_max=1.0 / int(class_sizes.min()),
        prosecutor_mean=mean,
        above={name: int(class_sizes[class_sizes < size].sum()) / records for name, size in least.items()},
        marketer=mean,
        arirec=float(np.mean(1.0 / class_sizes)),
        suppressed_share=suppressed_share,
        sample_uniques=int(np.count_nonzero(class_sizes == 1)) / records,
    )
