"""What each client counts for in a weighted mean, and how far one client can move that."""

from collections.abc import Mapping

from components.federation.aggregation.checks import PLACE, other_clients
from components.federation.aggregation.declarations import Mean, Rule
from schemas.faults import ConfigurationError, Fault


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
    if found := other_clients(params, list(rows)):
        raise ConfigurationError(found)
    amounts = {
        "equal": dict.fromkeys(rows, 1.0),
        "rows": {client: float(number) for client, number in rows.items()},
        "fixed": {client: params.fixed.get(client, 0.0) for client in rows},
    }[params.weights]
    total = sum(amounts.values())
    if rows and not total:
        raise ConfigurationError(
            Fault(f"{PLACE}.weights", "no client has a training row to be weighed by", remedy="set it to equal")
        )
    return {client: amount / total for client, amount in amounts.items()}


def weighs_rows(rule: Rule) -> bool:
    """Say whether clients count for their rows."""
    return isinstance(rule, Mean) and rule.weights == "rows"


def shares_of(rule: Rule, rows: Mapping[str, int], participation: float) -> dict[str, float]:
    """Return every client's weight as a share of what a round expects; rules that weigh nobody take all alike.

    Parameters
    ----------
    rule : Rule
    rows : mapping of str to int
        See `client_weights`.
    participation : float
        Chance of each client to take part in a round, in (0, 1].
    """
    weights = client_weights(rule if isinstance(rule, Mean) else Mean(), rows)
    return {client: weight / participation for client, weight in weights.items()}
