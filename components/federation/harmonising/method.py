"""Harmonised anonymisation: sites search by themselves, publish on levels that all agree on, and measure anew."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from components.anonymization.declarations import Lattice
from components.anonymization.release import Given, Release
from components.federation.harmonising.agreeing import Agreed, UnreachableError, agreeing
from components.federation.harmonising.declarations import Harmonising, harmonising_faults
from components.federation.harmonising.line import conversation
from components.federation.harmonising.local import held, levels_of, with_own_index
from components.federation.harmonising.outcome import Harmonisation, Harmonised, LeftOut, Told
from components.federation.harmonising.pooling import measured, pooled
from components.federation.harmonising.shared import own_digests
from components.federation.harmonising.station import Station
from components.federation.messages import Wire
from components.federation.sites import Site, of_client
from schemas.faults import ConfigurationError, Fault
from schemas.wording import of_clients


def harmonise(  # each is another part of the run
    how: Harmonising,
    params: Lattice,
    sites: Sequence[Site],
    given: Given,
    column: str = "",
    wire: Wire | None = None,
) -> Harmonisation:
    """Anonymise the train rows of all sites on levels that they agree on.

    Parameters
    ----------
    how : Harmonising
    params : Lattice
        Criteria, suppression and search of every site.
    sites : sequence of Site
        Their names differ. Nothing of them is written to.
    given : Given
        The shared hierarchies, of every quasi-identifier.
    column : str, optional
        The column that names the clients. Where it is a quasi-identifier it has one value at each site and says
        nothing there: it stays on level 0 unless ``params.levels`` names it.
    wire : Wire, optional
        That sites and server use.

    Returns
    -------
    Harmonisation
        Every criterion holds at every site, measured on what it publishes.

    Raises
    ------
    ConfigurationError
        Method and options can't be harmonised, or ``site_hierarchies`` names clients that there are not.
    DataError
        Sites don't share a hierarchy, or one lacks values; with the faults of all sites.
    GoalError
        Sites can't reach the criteria, and ``unreachable`` is ``stop`` or none is left; with what holds each back.
    """
    if faults := list(harmonising_faults(how, params, trains=False)):
        raise ConfigurationError(faults)
    if not sites:
        raise ConfigurationError(Fault("federation.clients", "there are no clients", "at least one"))
    schema = sites[0].train.schema
    digests = own_digests(how, params, [site.name for site in sites], schema, given)
    if column in schema.quasi_identifiers:
        params = held(params, column)
    given, wire = replace(given, population=None, predictions=None), wire or Wire()
    stations = {site.name: Station(with_own_index(site), params, given, digests[site.name]) for site in sites}
    try:
        agreed, told = conversation(agreeing(how, params, list(stations)), stations, wire)
    except UnreachableError as error:
        raise type(error)([*error.faults, *_held_back(stations.values())]) from None
    if agreed.levels is not None:
        wire.to_clients(0, "agreed levels", dict(agreed.levels))
    return _outcome(agreed, stations, told)


def _held_back(stations: Iterable[Station]) -> list[Fault]:
    """Return what each site knows of what holds it back; in one process its user is the one who reads it."""
    return [of_client(one.site.name, fault) for one in stations for fault in one.faults]


def _outcome(agreed: Agreed, stations: Mapping[str, Station], told: Sequence[Told]) -> Harmonisation:
    publishing = [stations[name] for name in agreed.sites]
    parts = tuple(
        Harmonised(
            site=one.site,
            own=levels_of(_made(one.own)),
            own_loss=float(_made(one.own).transformation["loss"]),
            levels=levels_of(_made(one.release)),
            release=_made(one.release),
        )
        for one in publishing
    )
    sites, shown = [part.site for part in parts], [part.release for part in parts]
    table = pooled(sites, shown)
    before, after = measured(table, sites, shown)
    return Harmonisation(
        sites=parts,
        left_out=tuple(LeftOut(stations[name].site, stations[name].faults) for name in agreed.left_out),
        levels=agreed.levels,
        pooled=table,
        before=before,
        after=after,
        seen=parts[0].release.seen if agreed.levels is not None else None,
        told=tuple(told),
        facts=agreed.facts,
        warnings=tuple(_warnings(agreed, parts, [one.name for one in after.criteria if not one.met])),
    )


def _made(release: Release | None) -> Release:
    if release is None:
        raise RuntimeError("a site that reaches the criteria has published nothing")
    return release


def _warnings(agreed: Agreed, parts: Sequence[Harmonised], missed: Sequence[str]) -> list[str]:
    told, facts = list(dict.fromkeys(each for part in parts for each in part.release.warnings)), agreed.facts
    if agreed.left_out:
        count = len(agreed.left_out)
        some = of_clients(agreed.left_out, count + len(agreed.sites))
        them = (
            f"{count} clients can't reach the criteria, and are"
            if count > 1
            else "1 client can't reach the criteria, and is"
        )
        told.append(f"{them} left out: {some}")
    if facts.get("raised"):
        told.append("levels were raised above the maximum of the clients' own, where some missed a criterion")
    if not facts.get("proved", True):
        told.append(f"common levels are the best found, not proved: {facts['stopped_by']} ended the search")
    if missed:
        told.append(
            f"the rows of all clients together miss {', '.join(dict.fromkeys(missed))}, which every client meets"
        )
    return told
