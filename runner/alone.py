"""Why a run federates nothing, as far as its configuration tells."""

from typing import Any

from components.federation.partitioning.declarations import ByColumn

ABSENT = "none"
AVERAGED = ("linear", "logistic", "mlp", "torch")
"""Models whose weights can be averaged."""
HARMONISED = ("none", "lattice")
"""Methods of anonymisation that sites can harmonise, or do without."""

REMEDIES = {
    "model": f"a model whose weights can be averaged: {', '.join(AVERAGED)}",
    "anonymization": "anonymization=lattice, whose levels sites can harmonise, or none",
    "no column names the clients": "federation.clients.column, dataset.client, or another way to clients, such as iid",
    "there are several targets": "one target",
}
"""What is allowed, by the beginning of the reason."""


def alone(config: Any) -> str:
    """Return why a configuration federates nothing, or could not; empty where it does."""
    federation = config.federation
    if federation.name == ABSENT:
        return f"federation={ABSENT}"
    if config.model.name not in AVERAGED:
        return f"model={config.model.name} has no weights that could be averaged"
    if config.anonymization.name not in HARMONISED:
        return f"anonymization={config.anonymization.name} has no levels that could be harmonised"
    clients = federation.clients
    if isinstance(clients, ByColumn) and (clients.column or config.dataset.client) is None:
        return "no column names the clients"
    if len(config.dataset.targets) > 1:
        return "there are several targets"
    return ""
