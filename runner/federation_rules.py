"""What the parts of a federation ask of each other, as far as a configuration tells."""

from collections.abc import Iterator
from typing import Any

from components.dp.checks import combination_faults, faults
from components.dp.declarations import Noised, Record
from components.federation.aggregation.declarations import Mean
from components.federation.declarations import Federation, Scaffold
from components.federation.harmonising.declarations import harmonising_faults
from components.federation.partitioning.declarations import ByColumn
from components.federation.setting import setting_of
from schemas.dataset import NUMERIC
from schemas.faults import Fault


def federation_faults(config: Any) -> Iterator[Fault]:
    """Yield what is wrong between federation, privacy, data, method and model.

    Parameters
    ----------
    config : RunConfig
        Of a run that federates.
    """
    federation: Federation = config.federation
    if config.anonymization.name != "none":
        yield from harmonising_faults(federation.harmonising, config.anonymization, trains=True)
    yield from _client_column(config)
    yield from _training(federation)
    yield from _target(config)
    if isinstance(config.dp, Noised):
        clients = getattr(federation.clients, "clients", None)
        yield from faults(config.dp, clients)
        yield from combination_faults(
            config.dp, setting_of(config.dp, federation, learned_encoder=config.encoder.learn)
        )
        yield from _noised(config.dp, federation)


def _client_column(config: Any) -> Iterator[Fault]:
    clients = config.federation.clients
    named = clients.column if isinstance(clients, ByColumn) else getattr(clients, "column", None)
    if named is not None and named not in config.dataset.names():
        yield Fault(
            "federation.clients.column", f"{named!r} is no column of the schema", "a column of the schema", "correct it"
        )


def _training(federation: Federation) -> Iterator[Fault]:
    local, rule, drift = federation.local, federation.aggregation.rule, federation.drift
    if isinstance(federation, Scaffold) and (local.optimizer != "sgd" or local.momentum):
        yield Fault(
            "federation.local.optimizer",
            "SCAFFOLD's control variates are gradients of plain SGD steps",
            "sgd without momentum",
            "set federation.local.optimizer=sgd federation.local.momentum=0.0",
        )
    if local.optimizer != "sgd" and local.momentum:
        yield Fault("federation.local.momentum", f"{local.optimizer} has no momentum to set", "0.0", "set it to 0.0")
    if drift is not None and drift.action == "down_weight" and not isinstance(rule, Mean):
        yield Fault(
            "federation.drift.action",
            f"{rule.name} can leave a client out, and can't give it less weight",
            "exclude or report",
            "set federation.drift.action=exclude, or federation/rule=mean",
        )


def _target(config: Any) -> Iterator[Fault]:
    """Ask for bounds of a number that is learned: a scale taken from rows would be told to everybody."""
    data = config.dataset
    for name in data.targets:
        column = data.column(name) if name in data.names() else None
        if column is None or data.task != "regression" or column.dtype not in NUMERIC:
            continue
        if column.min is None or column.max is None:
            yield Fault(
                f"dataset.columns.{name}",
                "sites that train together scale a target by its bounds, and it declares none",
                "min and max",
                f"set dataset.columns.{name}.min and .max",
            )


def _noised(privacy: Noised, federation: Federation) -> Iterator[Fault]:
    bound = federation.aggregation.norm_bound
    if bound is not None and not isinstance(privacy, Record):
        yield Fault(
            "federation.aggregation.norm_bound",
            f"dp={privacy.name} clips updates already",
            "null",
            "set it to null, and the clip in dp.clipping.norm",
        )
