"""What the parts of a federation ask of each other, as far as a configuration tells."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor, log10
from typing import Any

from components.dp.checks import combination_faults, faults, personalise_of, small_enough
from components.dp.conditions import withdrawn
from components.dp.declarations import ByEpsilon, Global, Noised, Record
from components.federation.aggregation.checks import faults as aggregation_faults
from components.federation.aggregation.checks import unweighable
from components.federation.declarations import Federation, Scaffold
from components.federation.harmonising.declarations import harmonising_faults
from components.federation.partitioning.declarations import ByColumn
from components.federation.setting import setting_of
from runner.noises import noises
from schemas.dataset import NUMERIC
from schemas.faults import Fault
from schemas.wording import of_clients, one_of_clients


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
    elif federation.harmonising.site_hierarchies:
        yield Fault(
            "federation.harmonising.site_hierarchies",
            "anonymization=none climbs no hierarchy",
            "empty",
            "leave it out, or choose anonymization=lattice",
        )
    yield from _client_column(config)
    known = _known_clients(config)
    if not isinstance(federation.clients, ByColumn):
        yield from client_faults(config, known)
    else:
        yield from unweighable(federation.aggregation.rule, federation.drift)
        yield from _named(config, known) if known else ()
    yield from _training(federation)
    yield from _target(config)
    if isinstance(config.dp, Noised):
        yield from privacy_faults(config.dp, config)


def privacy_faults(privacy: Noised, config: Any) -> Iterator[Fault]:
    """Yield what is wrong with noise by itself, and within a run that federates."""
    federation: Federation = config.federation
    yield from faults(privacy, len(_known_clients(config)) or None)
    learned = config.encoder.learn and privacy is not config.dp  # of the run's own noise there is a rule
    yield from combination_faults(privacy, setting_of(privacy, federation, learned_encoder=learned))
    yield from _noised(privacy, federation)


def client_faults(config: Any, clients: Sequence[str]) -> Iterator[Fault]:
    """Yield what names clients that there are not, or asks for more of them.

    Parameters
    ----------
    config : RunConfig
        Of a run that federates.
    clients : sequence of str
        Every client. A column's are known from the table alone: its schema may declare more.
    """
    federation: Federation = config.federation
    yield from _named(config, clients)
    yield from aggregation_faults(federation.aggregation, federation.drift, clients)
    for privacy, placed in noises(config):
        yield from map(placed, faults(privacy, len(clients)))


def _known_clients(config: Any) -> list[str]:
    """Return the names that clients can have, as far as the configuration tells."""
    clients, data = config.federation.clients, config.dataset
    if not isinstance(clients, ByColumn):
        return list(clients.names)
    name = clients.column or data.client
    column = data.column(name) if name in data.names() else None
    return [] if column is None else list(column.values or [])


def _named(config: Any, known: Sequence[str]) -> Iterator[Fault]:
    """Ask that clients who are named are clients."""
    federation: Federation = config.federation
    places = {f"federation.attacks.{number}.clients": each.clients for number, each in enumerate(federation.attacks)}
    places["federation.harmonising.site_hierarchies"] = list(federation.harmonising.site_hierarchies)
    for place, given in places.items():
        yield from _strangers(place, given, known)
    for privacy, placed in noises(config):
        if isinstance(how := personalise_of(privacy), ByEpsilon):
            yield from map(placed, _strangers("dp.personalise.clients", how.clients, known))


def _strangers(place: str, given: Iterable[str], known: Sequence[str]) -> Iterator[Fault]:
    for name in given:
        if name not in known:
            yield Fault(place, f"there is no client {name!r}", one_of_clients(known), "correct the name")


def _client_column(config: Any) -> Iterator[Fault]:
    clients = config.federation.clients
    named = clients.column if isinstance(clients, ByColumn) else getattr(clients, "column", None)
    if named is not None and named not in config.dataset.names():
        yield Fault(
            "federation.clients.column", f"{named!r} is no column of the schema", "a column of the schema", "correct it"
        )


def _training(federation: Federation) -> Iterator[Fault]:
    local = federation.local
    if isinstance(federation, Scaffold) and (local.optimizer != "sgd" or local.momentum):
        yield Fault(
            "federation.local.optimizer",
            "SCAFFOLD's control variates are gradients of plain SGD steps",
            "sgd without momentum",
            "set federation.local.optimizer=sgd federation.local.momentum=0.0",
        )
    if local.optimizer != "sgd" and local.momentum:
        yield Fault("federation.local.momentum", f"{local.optimizer} has no momentum to set", "0.0", "set it to 0.0")


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
    shared = isinstance(privacy, Global) and privacy.noise_from == "clients" and privacy.smallest_cohort is None
    if shared and federation.participation < 1:
        yield Fault(
            "dp.smallest_cohort",
            "null asks for the shares of noise of all clients, and a round does not ask all of them",
            "how many clients a round has at least",
            "set it, or federation.participation=1.0",
        )
    bound = federation.aggregation.norm_bound
    if bound is not None and not isinstance(privacy, Record):
        yield Fault(
            "federation.aggregation.norm_bound",
            f"dp={privacy.name} clips updates already",
            "null",
            "set it to null, and the clip in dp.clipping.norm",
        )


def delta_faults(config: Any, rows: Mapping[str, int]) -> Iterator[Fault]:
    """Yield the faults of deltas that allow to publish a row as it is, wherever an epsilon would be claimed.

    Parameters
    ----------
    config : RunConfig
        Of a run that federates.
    rows : mapping of str to int
        Train rows of each client.
    """
    for privacy, placed in noises(config):
        large = [name for name, count in rows.items() if not small_enough(privacy.delta, count)]
        claims = not withdrawn(setting_of(privacy, config.federation, learned_encoder=config.encoder.learn))
        if large and claims:
            most = max(rows.values())
            yield placed(
                Fault(
                    "dp.delta",
                    f"{privacy.delta:g} is no smaller than one over the train rows of {of_clients(large, len(rows))}: "
                    "whoever publishes one row as it is keeps within such a delta",
                    f"below 1/{most:,}, one over the most rows of a client",
                    f"set dp.delta={10.0 ** floor(log10(0.1 / most)):g}",
                )
            )
