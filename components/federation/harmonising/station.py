"""A site while levels are agreed on: it has its rows, and answers what it is asked by what they come to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from components.anonymization.declarations import Lattice
from components.anonymization.lattice.quality import Separable
from components.anonymization.lattice.search import Search
from components.anonymization.release import Given, Release
from components.federation.harmonising.asking import Kind, Question
from components.federation.harmonising.local import anonymised, from_levels, levels_of, pinned, search_of
from components.federation.harmonising.shared import Digests
from components.federation.sites import Site
from schemas.faults import Fault, GoalError

Said = tuple[Kind, Any]
"""Of which kind a message is, and its content: plain facts without cell values."""


@dataclass(slots=True)
class Station:
    """One site's side of the conversation.

    Parameters
    ----------
    site : Site
    params : Lattice
        Criteria, suppression and search.
    given : Given
    digests : mapping of str to str
        Of the hierarchies that it climbs.

    Attributes
    ----------
    own : Release or None
        What it would publish by itself.
    release : Release or None
        What it publishes.
    faults : tuple of Fault
        What held it back the last time that it reached no criteria: its own knowledge, which is told to nobody.
    """

    site: Site
    params: Lattice
    given: Given
    digests: Digests
    own: Release | None = None
    release: Release | None = None
    faults: tuple[Fault, ...] = ()
    _search: Search | None = field(default=None, repr=False)

    def answer(self, question: Question, about: Any) -> Said:
        """Answer the server.

        Parameters
        ----------
        question : str
        about : dict or None
            Levels by column that the server names, as it sent them.

        Raises
        ------
        DataError
            Rows can't be anonymised whatever the levels.
        """
        answers: Mapping[Question, Callable[[Any], Said]] = {
            "hierarchies": lambda _: ("hierarchies", dict(self.digests)),
            "optimum": self._optimum,
            "weights": lambda _: ("weights", self._weights()),
            "look": lambda levels: ("node", self._looked(levels)),
            "publish": lambda levels: ("node", self._published(levels)),
            "measured": lambda _: ("measured", self._measured()),
        }
        return answers[question](about)

    def _anonymised(self, params: Lattice) -> Release | None:
        try:
            return anonymised(params, self.site, self.given)
        except GoalError as error:
            self.faults = error.faults
            return None

    def _optimum(self, above: Mapping[str, int] | None) -> Said:
        """Return the levels that lose least, of all or of those from some levels upwards."""
        found = self._anonymised(self.params if above is None else from_levels(self.params, above))
        if found is None:
            return "unreachable", None
        if above is None:
            self.own = self.release = found
        return "optimum", {"levels": levels_of(found), "loss": float(found.transformation["loss"])}

    def _weights(self) -> dict[str, Any]:
        """Return its rows, the levels that may be used, and what each column adds to a loss on each at least."""
        search = self._searching()
        names = [one.ladder.attribute.name for one in search.space.dimensions]
        ranges = [[one.levels[0], one.levels[-1]] for one in search.space.dimensions]
        content: dict[str, Any] = {"rows": len(self.site.train.frame), "levels": dict(zip(names, ranges, strict=True))}
        if isinstance(search.model, Separable):
            parts = [part.tolist() for part in search.model.parts()]
            content["least_loss"] = dict(zip(names, parts, strict=True))
        return content

    def _looked(self, levels: Mapping[str, int]) -> dict[str, Any]:
        """Return whether levels fit its rows, and what they lose."""
        search = self._searching()
        dimensions = search.space.dimensions
        node = tuple(levels[one.ladder.attribute.name] - one.levels[0] for one in dimensions)
        look, tried = search.look(node)
        if not look.fits:
            return {"levels": dict(levels), "fits": False, "condemns": look.condemns}
        content = {"levels": dict(levels), "fits": True, "loss": look.value, "suppressed": look.suppressed}
        floor = float("-inf") if isinstance(search.model, Separable) else search.model.floor(tried)
        return content | ({"floor": floor} if isfinite(floor) else {})

    def _published(self, levels: Mapping[str, int]) -> dict[str, Any]:
        """Anonymise on levels, measure, and say whether every criterion is met there."""
        self.release = self._anonymised(pinned(self.params, levels))
        return {"levels": dict(levels), "fits": self.release is not None}

    def _measured(self) -> dict[str, Any]:
        """Return what it reaches on what it publishes."""
        if self.release is None:
            raise RuntimeError("a site that publishes nothing was asked what it reaches")
        after = self.release.after
        return {
            "k": after.k,
            "classes": after.classes,
            "suppressed": after.suppressed,
            "loss": float(self.release.transformation["loss"]),
            "arirec": after.risk.arirec,
            "marketer": after.risk.marketer,
            "criteria": [
                {"name": one.name, "column": one.column, "asked": one.asked, "reached": one.reached}
                for one in after.criteria
            ],
        }

    def _searching(self) -> Search:
        if self._search is None:
            self._search = search_of(self.params, self.site, self.given)
        return self._search
