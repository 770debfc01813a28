"""The line between the server that agrees on levels and the sites that answer: messages, and nothing else."""

from collections.abc import Mapping

from components.federation.harmonising.asking import Ask, Heard, Result, Talk
from components.federation.harmonising.outcome import Told
from components.federation.harmonising.station import Station
from components.federation.messages import Wire
from components.federation.sites import of_client
from schemas.faults import DataError, Fault


def conversation(talk: Talk[Result], stations: Mapping[str, Station], wire: Wire) -> tuple[Result, list[Told]]:
    """Bring the server's questions to sites and their answers back until it is done.

    Parameters
    ----------
    talk : generator
        The server's side.
    stations : mapping of str to Station
        The sites, by name.
    wire : Wire

    Returns
    -------
    tuple
        What the server made of it, and all that sites told, in order.

    Raises
    ------
    DataError
        Sites can't answer a question, whatever the levels; with the faults of all that were asked.
    """
    told: list[Told] = []
    heard: dict[str, Heard] = {}
    try:
        ask = next(talk)
        while True:
            heard = _asked(ask, stations, wire)
            told += [Told(name, said.kind, said.content) for name, said in heard.items()]
            ask = talk.send(heard)
    except StopIteration as done:
        return done.value, told


def _asked(ask: Ask, stations: Mapping[str, Station], wire: Wire) -> dict[str, Heard]:
    heard: dict[str, Heard] = {}
    faults: list[Fault] = []
    for name in ask.of:
        about = None if ask.about is None else wire.to_clients(0, "proposal", dict(ask.about), name)
        try:
            kind, content = stations[name].answer(ask.question, about)
        except DataError as error:
            faults += [of_client(name, fault) for fault in error.faults]
        else:
            heard[name] = Heard(kind, wire.to_server(0, name, kind, content))
    if faults:
        raise DataError(faults)
    return heard
