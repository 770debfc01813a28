"""Each client's noise by its re-identification risk (ARIREC), or by policy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from components.dp.declarations import ByEpsilon, ByMax, ByMean, ByMinMax, ByShift, ByTiers, Personalise, Tier
from schemas.faults import DataError, Fault
from schemas.wording import of_clients

Basis = Literal["policy", "data-derived"]


@dataclass(frozen=True, slots=True)
class Assigned:
    """What one client's noise is to be: a multiplier, or the epsilon that it is calibrated to.

    Parameters
    ----------
    multiplier, target_epsilon : float or None
        One of them.
    basis : {"policy", "data-derived"}
        Whether it was published beforehand, or computed from the clients' data and so tells something of them.
    band : int or None
        Of tiers: the band that the client's risk fell into, which its noise shows.
    """

    multiplier: float | None
    target_epsilon: float | None
    basis: Basis
    band: int | None = None


def everyone_alike(clients: list[str], multiplier: float | None, target_epsilon: float | None) -> dict[str, Assigned]:
    """Return the same for all clients, by policy."""
    return {client: Assigned(multiplier, target_epsilon, "policy") for client in clients}


def personalised(
    how: Personalise, risks: Mapping[str, float], multipliers: Mapping[str, float] | None = None
) -> dict[str, Assigned]:
    """Return what each client's noise is to be.

    With n the multipliers and A the risks, multipliers are ``n A / max A`` (`max`), ``n A / mean A`` (`mean`),
    ``max(floor, n (A - min A) / (max A - min A))`` (`minmax`) or ``n (1 + (A - min A) / (max A - min A))`` (`shift`);
    equal risks count as the largest. `tiers` and `epsilon` are policies.

    Parameters
    ----------
    how : Personalise
    risks : mapping of str to float
        ARIREC of every client's released table, in (0, 1].
    multipliers : mapping of str to float, optional
        n of each client; asked for by the first four.

    Returns
    -------
    dict of str to Assigned

    Raises
    ------
    DataError
        A risk is none.
    """
    if isinstance(how, ByEpsilon):
        return {client: Assigned(None, how.clients.get(client, how.default), "policy") for client in risks}
    _check(risks)
    if isinstance(how, ByTiers):
        return {client: _of_tier(how.tiers, risk) for client, risk in risks.items()}
    if multipliers is None:
        raise ValueError("multipliers to personalise are needed")
    wanted = np.array([multipliers[client] for client in risks])
    values = wanted * factors(how, np.array(list(risks.values()), dtype=np.float64))
    if isinstance(how, ByMinMax):
        values = np.maximum(values, how.floor)
    return {client: Assigned(float(value), None, "data-derived") for client, value in zip(risks, values, strict=True)}


def factors(how: ByMax | ByMean | ByMinMax | ByShift, risks: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return each client's multiplier over the one that is personalised, before any floor."""
    if isinstance(how, ByMax):
        return np.asarray(risks / risks.max())
    if isinstance(how, ByMean):
        return np.asarray(risks / risks.mean())
    least, spread = risks.min(), np.ptp(risks)
    place = (risks - least) / spread if spread > 0 else np.ones_like(risks)
    return np.asarray(place + (1 if isinstance(how, ByShift) else 0))


def _of_tier(tiers: list[Tier], risk: float) -> Assigned:
    band = next(number for number, tier in enumerate(tiers) if risk <= tier.up_to)
    return Assigned(tiers[band].multiplier, tiers[band].target_epsilon, "policy", band)


def _check(risks: Mapping[str, float]) -> None:
    wrong = [client for client, risk in risks.items() if not 0 < risk <= 1]
    if wrong or not risks:
        raise DataError(
            Fault(
                place="dp.personalise",
                problem=f"no risk is known of {of_clients(wrong, len(risks))}" if wrong else "there are no clients",
                allowed="the risk (ARIREC) of every client's released table, above 0 and at most 1",
                remedy="anonymise every client's table, or personalise by epsilon, a policy that asks for no risk",
            )
        )
