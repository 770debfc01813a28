"""What sites tell the server while they harmonise, as plain facts."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from components.anonymization.lattice.quality import Separable
from components.anonymization.lattice.search import Search
from components.anonymization.lattice.search_record import absolute
from components.federation.harmonising.common import Joint
from components.federation.harmonising.outcome import Harmonised, Told
from components.federation.sites import Site


def weights_of(sites: Sequence[Site], searches: Sequence[Search]) -> list[Told]:
    """Say what bounds the total loss: the rows of each site, and the mean loss of each column on each level."""
    told = []
    for site, search in zip(sites, searches, strict=True):
        content: dict[str, Any] = {"rows": len(site.train.frame)}
        if isinstance(search.model, Separable):
            means = zip(search.space.dimensions, search.model.means, strict=True)
            content["least_loss"] = {one.ladder.attribute.name: mean.tolist() for one, mean in means}
        told.append(Told(site.name, "weights", content))
    return told


def nodes_of(sites: Sequence[Site], climbed: Sequence[str], joint: Joint) -> list[Told]:
    """Say what each site answered to each level vector that was proposed."""
    told = []
    for answer in joint.answers:
        levels = absolute(joint.searches[answer.site], answer.look.levels)
        content: dict[str, Any] = {"levels": dict(zip(climbed, levels, strict=True)), "fits": answer.look.fits}
        if answer.look.fits:
            content |= {"loss": answer.look.value, "suppressed": answer.look.suppressed}
        else:
            content["condemns"] = answer.look.condemns
        if isfinite(answer.floor):
            content["floor"] = answer.floor
        told.append(Told(sites[answer.site].name, "node", content))
    return told


def measured_of(part: Harmonised) -> Told:
    """Say what a site reaches on what it publishes."""
    after = part.release.after
    return Told(
        part.site.name,
        "measured",
        {
            "k": after.k,
            "classes": after.classes,
            "suppressed": after.suppressed,
            "loss": part.loss,
            "arirec": after.risk.arirec,
            "marketer": after.risk.marketer,
            "criteria": [
                {"name": one.name, "column": one.column, "asked": one.asked, "reached": one.reached}
                for one in after.criteria
            ],
        },
    )
