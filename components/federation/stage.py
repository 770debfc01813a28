"""One federation from end to end: clients and server are made, train, and what came of it is told."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from components.data.table import Table
from components.dp.declarations import Noised
from components.federation.aggregation.checks import faults
from components.federation.aggregation.declarations import Mean
from components.federation.aggregation.weights import shares_of
from components.federation.attacks.declarations import AnyAttack
from components.federation.attacks.simulate import attacked_classes, attacked_numbers
from components.federation.checkpoint import Checkpoint, Keeper, resume
from components.federation.client import Client
from components.federation.control import ControlVariate
from components.federation.declarations import Federation, FedProx, Scaffold
from components.federation.equalising import Terms
from components.federation.identity import identity
from components.federation.known import Known, told_before
from components.federation.messages import Wire
from components.federation.model import INITIAL, Space, engine_of, model_of, network_of
from components.federation.privacy import Guarded, guarded
from components.federation.rounds import Schedule, Training
from components.federation.server import Server
from components.federation.work import LocalTraining
from components.models.encoded_model import EncodedModel
from components.randomness import derived_seed
from schemas.declaration import Declaration
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.wording import names, one_of_clients


@dataclass(frozen=True, slots=True)
class Sites:
    """What sites bring to a federation.

    Parameters
    ----------
    tables : mapping of str to Table
        By client, the rows that it trains on, as the model sees them. Clients without rows don't take part.
    risks : mapping of str to float
        ARIREC of what each client released, where it released anything.
    generalised : tuple of str
        Columns that are known as a release has them.
    """

    tables: Mapping[str, Table]
    risks: Mapping[str, float]
    generalised: tuple[str, ...] = ()

    @property
    def rows(self) -> dict[str, int]:
        """Train rows of the clients that have any."""
        return {name: len(table.frame) for name, table in self.tables.items() if len(table.frame)}


@dataclass(frozen=True, slots=True)
class Underway:
    """A federation in training, or over.

    Parameters
    ----------
    training : Training
    guarded : Guarded
    ended : str
        Why training ended.
    """

    training: Training
    guarded: Guarded
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Federated(Underway):
    """A federation that is over.

    Parameters
    ----------
    model : EncodedModel
    """

    model: EncodedModel = field(kw_only=True)


def federate(  # noqa: PLR0913  # each is another part of the run
    params: Federation,
    privacy: Noised | None,
    model: Declaration,
    sites: Sites,
    seed: int,
    *,
    wire: Wire | None = None,
    keeper: Keeper | None = None,
    began: Callable[[Underway], None] = lambda _: None,
    checkpoint: Checkpoint | None = None,
) -> Federated:
    """Train a model together.

    Parameters
    ----------
    params : Federation
    privacy : Noised or None
    model : Declaration
        One of `components.federation.model.FEDERATED`.
    sites : Sites
    seed : int
        The run's root seed.
    wire : Wire, optional
        That the sites have used already.
    keeper : Keeper, optional
        Keeps the training so far, round by round.
    began : callable, optional
        Given the training before its first round, so that it can be accounted for whatever becomes of it.
    checkpoint : Checkpoint, optional
        Of the same training, which goes on from there (see `components.federation.checkpoint.resume`).

    Raises
    ------
    ConfigurationError
        The schema leaves open what rows would have to decide, the module can't be trained so, the aggregation asks
        for other or more clients, an attacker is none of them, or the checkpoint is of another training.
    DataError
        There is no site, or no site has rows; rows don't fit the schema; a risk that noise follows isn't known.
    """
    rows = sites.rows
    _refuse(params, sites)
    space = Space.of(next(iter(sites.tables.values())).schema)
    network = network_of(model, space)
    schedule = schedule_of(params, seed)
    wire = wire or Wire()
    known = told_before(params.aggregation.rule, [privacy], rows, sites.risks, wire)
    shares = shares_of(params.aggregation.rule, known.rows, params.participation)
    guards = guarded(
        privacy,
        schedule,
        known.rows,
        known.risks,
        shares,
        lambda client, multiplier: float(wire.to_clients(0, "multiplier", multiplier, client)),
    )
    clients = [_client(name, sites.tables[name], params, space, guards, seed) for name in rows]
    if isinstance(params, Scaffold):
        for client in clients:
            client.control = ControlVariate.zero(network.layout.size)
    server = Server(
        network.layout,
        network.initial(derived_seed(seed, INITIAL)),
        params.aggregation,
        shares,
        params.drift,
        fixed_divisor=_divides_by_expected(params, privacy),
        averaging=guards.averaging,
        fewest=guards.fewest,
        control=np.zeros(network.layout.size) if isinstance(params, Scaffold) else None,
        step_length=params.local.learning_rate * params.local.epochs,
    )
    engine = engine_of(network, params.engine.backend, params.engine.chunk)
    identical = identity(_declared(params, privacy, model, space, seed), clients, network.layout)
    training = Training(network, clients, server, engine, wire, schedule, guards.clips, identity=identical)
    if checkpoint is not None:
        resume(training, checkpoint)
    began(Underway(training, guards))
    ended = training.run() if keeper is None else training.run(keeper.after_round, keeper.before_release)
    notes = [f"trained by {params.name} at {len(rows)} clients in {len(training.rounds)} rounds: {ended}"]
    made = model_of(
        network,
        training.server.weights,
        space,
        model,
        params.local,
        seed,
        notes=notes,
        generalised=sites.generalised,
    )
    return Federated(training, guards, ended, model=made)


def schedule_of(params: Federation, seed: int) -> Schedule:
    """Return how long training goes on, and who takes part."""
    return Schedule(params.rounds, params.participation, local_training(params), seed, params.early_stop)


def terms(params: Federation, known: Known, seed: int) -> Terms:
    """Return what decides which figure the noise of a scenario comes to."""
    return Terms(
        schedule_of(params, seed),
        known.rows,
        known.risks,
        shares_of(params.aggregation.rule, known.rows, params.participation),
    )


def local_training(params: Federation) -> LocalTraining:
    """Return how clients train in a round."""
    proximal = params.mu if isinstance(params, FedProx) else 0.0
    return LocalTraining(**params.local.model_dump(), proximal=proximal)


def _refuse(params: Federation, sites: Sites) -> None:
    """Refuse what can't be trained together at all."""
    if not sites.rows:
        told = "no site has a row to train on" if sites.tables else "there is no site"
        raise DataError(Fault("federation.clients", told, "at least one site with rows", "look at the dataset"))
    found = faults(params.aggregation, params.drift, list(sites.rows))
    strangers = sorted({name for each in params.attacks for name in each.clients} - sites.tables.keys())
    if strangers:
        found.append(
            Fault("federation.attacks", f"no such client: {names(strangers)}", one_of_clients(list(sites.tables)))
        )
    if found:
        raise ConfigurationError(found)


def _declared(params: Federation, privacy: Noised | None, model: Declaration, space: Space, seed: int) -> str:
    """Return the digest of all that decides a training, but for the rows."""
    what = {
        "federation": params.model_dump(mode="json"),
        "privacy": None if privacy is None else privacy.model_dump(mode="json"),
        "model": model.model_dump(mode="json"),
        "features": list(space.encoder.names),
        "target": space.schema.column(space.target.column).model_dump(mode="json"),
        "seed": seed,
    }
    return sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def _divides_by_expected(params: Federation, privacy: Noised | None) -> bool:
    rule = params.aggregation.rule
    divisor = rule.divisor if isinstance(rule, Mean) else None
    return (privacy is not None) if divisor is None else divisor == "expected"


def _client(name: str, table: Table, params: Federation, space: Space, guards: Guarded, seed: int) -> Client:
    features, targets = space.rows(table)
    attack = next((each for each in params.attacks if name in each.clients), None)
    if attack is not None:
        targets = _attacked(attack, targets, space)
    stop = params.early_stop
    return Client(
        name,
        features,
        targets,
        guards.guards[name],
        seed,
        tells_loss=stop is not None and stop.monitor == "loss",
        tells_noise=params.drift is not None and params.drift.noise_correction,
        attack=attack,
    )


def _attacked(attack: AnyAttack, targets: npt.NDArray[np.generic], space: Space) -> npt.NDArray[np.generic]:
    """Return the targets that an attacker trains on."""
    if space.target.classes:
        return attacked_classes(attack, np.asarray(targets, dtype=np.int64), len(space.target.classes))
    column = space.schema.column(space.target.column)
    ends = space.scale.standardised(np.array([column.min, column.max], dtype=np.float64))
    return attacked_numbers(attack, np.asarray(targets, dtype=np.float32), float(ends[0]), float(ends[1]))
