"""What each client counts for in a weighted mean, and how far one client can move that."""

from collections.abc import Mapping, Sequence

import numpy as np

from components.federation.aggregation.declarations import Mean
from components.federation.aggregation.rules import FloatArray
from schemas.faults import ConfigurationError, Fault
from schemas.wording import names


def client_weights(params: Mean, rows: Mapping[str, int]) -> dict[str, float]:
    """Return every client's weight; they sum to 1.

    Parameters
    ----------
    params : Mean
    rows : mapping of str to int
        Every client of the run with its training rows, which are looked at with ``weights: rows`` alone.

    Returns
    -------
    dict of str to float
        In the order of `rows`. Clients without a row count for nothing under ``weights: rows``.

    Raises
    ------
    ConfigurationError
        The fixed weights are of other clients, or no client has a row.
    """
    if params.weights == "fixed":
        refuse_other_clients(params, list(rows))
    amounts = {
        "equal": dict.fromkeys(rows, 1.0),
        "rows": {client: float(number) for client, number in rows.items()},
        "fixed": {client: params.fixed.get(client, 0.0) for client in rows},
    }[params.weights]
    total = sum(amounts.values())
    if rows and not total:
        raise ConfigurationError(
            Fault("federation.aggregation.rule.weights", "no client has a training row to be weighed by")
        )
    return {client: amount / total for client, amount in amounts.items()}


def refuse_other_clients(params: Mean, clients: Sequence[str]) -> None:
    """Refuse fixed weights that leave a client out, or name one that there isn't.

    Raises
    ------
    ConfigurationError
    """
    place = "federation.aggregation.rule.fixed"
    absent = [client for client in clients if client not in params.fixed]
    unknown = [client for client in params.fixed if client not in clients]
    faults = [Fault(place, f"no weight for {names(absent)}", remedy="give every client one")] if absent else []
    if unknown:
        faults.append(Fault(place, f"no such client: {names(unknown)}", f"allowed: {names(clients)}"))
    if faults:
        raise ConfigurationError(faults)


def largest_contribution(weights: FloatArray | Sequence[float], clip: float) -> float:
    """Return how far one client's clipped update moves the weighted mean at most: ``max_i w_i * clip``.

    That is the L2 sensitivity where the client's message becomes 0 in the neighbouring case; twice as much where
    another message of norm `clip` may take its place. The weights are those of a fixed divisor.

    Parameters
    ----------
    weights : array of float, shape (clients,)
    clip : float
        Largest L2 norm of an update.
    """
    return float(np.max(np.asarray(weights, dtype=np.float64), initial=0.0)) * clip
