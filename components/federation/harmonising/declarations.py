"""Parameters of harmonisation, and what can't be asked for together.

Light on purpose: nothing but pydantic is imported.
"""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from components.anonymization.criteria.declarations import KMap
from components.anonymization.declarations import Lattice
from schemas.base import Contract, Text
from schemas.faults import Fault

PLACE = "federation.harmonising"


class Harmonising(Contract):
    """How sites come to the levels that they publish on."""

    harmonise: Literal["max", "common", "none"] = Field(
        default="max",
        description="levels of all sites: the element-wise maximum of the sites' own optima, the one level vector that "
        "satisfies every site with the least total loss, or each site its own (which leaves no common input space)",
    )
    unreachable: Literal["stop", "leave_out"] = Field(
        default="stop", description="sites that can't reach the criteria: end the run, or go on without them"
    )
    site_hierarchies: dict[Text, str] = Field(
        default={}, description="folders of sites that bring their own hierarchy files, such as {Brazil: data/brazil}"
    )


def harmonising_faults(how: Harmonising, method: Any, *, trains: bool) -> Iterator[Fault]:
    """Yield what a configuration asks for that can't be, before any table is read.

    Parameters
    ----------
    how : Harmonising
    method : AnonymizationDeclaration
    trains : bool
        Whether a model is trained on what the sites publish.
    """
    if not isinstance(method, Lattice):
        yield Fault(
            place="anonymization",
            problem=f"sites can't harmonise the method {method.name}",
            allowed="lattice, which puts every column on one level",
            remedy="choose anonymization=lattice",
        )
        return
    if method.local_recoding:
        yield Fault(
            place="anonymization.local_recoding",
            problem="rows on levels of their own can't be harmonised",
            allowed="false",
            remedy="set it to false",
        )
    for number, criterion in enumerate(method.criteria):
        if isinstance(criterion, KMap):
            yield Fault(
                place=f"anonymization.criteria[{number}]",
                problem="k_map counts a population of the whole table, of which no site knows its own part",
                allowed="criteria that a site can measure on its own rows",
                remedy="leave k_map out",
            )
    if trains and how.harmonise == "none":
        yield Fault(
            place=f"{PLACE}.harmonise",
            problem="sites on levels of their own have no common input space that one model could train in",
            allowed="max or common with a model",
            remedy="choose one of these",
        )
