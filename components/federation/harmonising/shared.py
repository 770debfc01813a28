"""Whether sites share their hierarchies, told by digests before any row is looked at."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from components.anonymization.climbing import climbed
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.sources import load
from components.anonymization.release import Given
from components.federation.harmonising.declarations import PLACE, Harmonising
from components.federation.sites import of_client
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.wording import names, of_clients, one_of_clients, shown

Digests = Mapping[str, str]
"""SHA-256 of a hierarchy by column."""

_DIGITS = 8
"""Digits of a digest that a message shows."""


def own_digests(
    how: Harmonising, params: Lattice, sites: Sequence[str], schema: DatasetSchema, given: Given
) -> dict[str, Digests]:
    """Return the digests of each site's hierarchies.

    Parameters
    ----------
    how : Harmonising
        Sites named in its ``site_hierarchies`` bring their own files; all others climb those of `given`.
    params : Lattice
    sites : sequence of str
    schema : DatasetSchema
        Of every site.
    given : Given

    Raises
    ------
    ConfigurationError
        ``site_hierarchies`` names clients that there are not.
    DataError
        Files can't be read; with the faults of all sites.
    """
    if strangers := [name for name in how.site_hierarchies if name not in sites]:
        raise ConfigurationError(
            Fault(
                place=f"{PLACE}.site_hierarchies",
                problem=f"there {'is no client' if len(strangers) == 1 else 'are no clients'} {names(strangers)}",
                allowed=one_of_clients(sites),
                remedy="name a client, or leave it out",
            )
        )
    wanted = climbed(params, schema, given.base)
    shared = {name: one.digest for name, one in given.hierarchies.items() if name in wanted}
    found: dict[str, Digests] = dict.fromkeys(sites, shared)
    faults: list[Fault] = []
    for name, folder in how.site_hierarchies.items():
        try:
            own = load(schema.model_copy(update={"hierarchies": folder}), given.base, wanted)
        except (ConfigurationError, DataError) as error:
            faults += [of_client(name, fault) for fault in error.faults]
        else:
            found[name] = {column: one.digest for column, one in own.items()}
    if faults:
        raise DataError(faults)
    return found


def mismatches(digests: Mapping[str, Digests]) -> list[Fault]:
    """Return a fault for every column whose hierarchy is not the same at all sites.

    Parameters
    ----------
    digests : mapping of str to mapping of str to str
        Per site, the digest by column.
    """
    faults = []
    for column in dict.fromkeys(name for own in digests.values() for name in own):
        sites_of: dict[str, list[str]] = defaultdict(list)
        for site, own in digests.items():
            sites_of[own.get(column, "")].append(site)
        if len(sites_of) > 1:
            every = len(digests)
            said = [f"{digest[:_DIGITS] or 'none'} at {of_clients(sites, every)}" for digest, sites in sites_of.items()]
            faults.append(
                Fault(
                    place=f"column {shown(column)}",
                    problem=f"sites have {len(sites_of)} hierarchies by their digests: {'; '.join(said)}",
                    allowed="the same hierarchy at every site, leaves and labels alike",
                    remedy="give all sites one file",
                )
            )
    return faults
