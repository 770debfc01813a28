"""The joint search made ready: ladders as they are in a state, and where the climbing begins."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from components.minimization import declarations
from components.minimization.generalizer import Ranges
from components.minimization.greedy.climbing import Known, State, climb
from components.minimization.greedy.cuts import finest
from components.minimization.greedy.importance import permuted, shapley
from components.minimization.greedy.ladders import Rung, ladder
from components.minimization.greedy.levels import levels_of
from components.minimization.greedy.looks import Looks
from components.minimization.greedy.trials import Trial
from components.minimization.partitions import Partition
from components.minimization.problem import Problem
from components.minimization.tree.candidates import standing_for


@dataclass(frozen=True, slots=True)
class Joint:
    """What steps are chosen by: the fit rows alone.

    Parameters
    ----------
    looks : Looks
    finest : dict of str to Partition
        What an exact attribute's ladder begins with.
    levels : dict of str to list of Partition
        Those of hierarchies that are climbed.
    order : tuple of str
        Attributes, the least important first.
    weights : dict of str to float
    exact : State
        Where nothing is generalised.
    """

    looks: Looks
    finest: dict[str, Partition]
    levels: dict[str, list[Partition]]
    order: tuple[str, ...]
    weights: dict[str, float]
    exact: State
    _ladders: dict[int, tuple[tuple[int, ...], State, Sequence[Rung]]] = field(default_factory=dict)

    @classmethod
    def of(cls, params: declarations.Greedy, problem: Problem, fit: Trial) -> Self:
        """Look for cuts, levels and the order of attributes.

        Raises
        ------
        ConfigurationError
            A hierarchy can't be climbed, or SHAP values are asked for and the library is not installed.
        """
        seed, attributes = problem.seed, problem.attributes
        looks = Looks.at(fit, seed)
        found = finest(
            attributes,
            fit.rows,
            regression=problem.regression,
            parts=params.parts,
            min_rows=params.min_rows,
            seed=seed,
        )
        apart = {name: partition.missing_apart for name, partition in found.items()}
        levels = levels_of(attributes, apart) if params.hierarchies else {}
        importance = (permuted if params.order == "permutation" else shapley)(looks.sample, seed)
        order = sorted(importance, key=lambda name: importance[name])
        usual = {
            each.name: float(standing_for(Partition.whole(each), fit.rows.codes[each.name])[0]) for each in attributes
        }
        raw = {each.name: Rung(Ranges(each, None, np.empty(0), usual[each.name]), 0.0, 0.0) for each in attributes}
        return cls(
            looks,
            found | {name: steps[0] for name, steps in levels.items()},
            levels,
            tuple(order),
            problem.every_weight(),
            State(raw, 0.0),
        )

    def ladder_at(self, name: str, state: State, *, fresh: bool) -> Known:
        """Return the rungs above an attribute's present one, as they are in a state, or were when last looked at."""
        rung = state.rungs[name]
        others = tuple(id(each) for each in state.rungs.values())
        made = self._ladders.get(id(rung))
        if made is None or (fresh and made[0] != others):
            now = rung.ranges.partition
            effects = self.looks.effects(self.finest[name] if now is None else now, state.ranges)
            # the state stands beside its ladder to keep the ids its own
            made = self._ladders[id(rung)] = others, state, ladder(effects, self.levels.get(name))
        return Known(made[2], made[1].lost, made[0] == others)

    def climb(self, start: State, budget: float, order: Sequence[str] | None = None) -> list[State]:
        """Return the states from a start upwards (see `climbing.climb`)."""
        rows = len(self.looks.sample.rows)
        return climb(self.ladder_at, start, order or self.order, self.weights, budget=budget, rows=rows)

    def alone(self) -> dict[str, Rung]:
        """Return what becomes of each attribute when it alone is not asked for."""
        return {name: self.ladder_at(name, self.exact, fresh=True).rungs[-1] for name in self.order}

    def back(self, state: State, name: str) -> State:
        """Return a state with one attribute back at its exact values."""
        rungs = {**state.rungs, name: self.exact.rungs[name]}
        return State(rungs, self.looks.lost({each: rung.ranges for each, rung in rungs.items()}))

    def privacy(self, state: State) -> float:
        """Return the weighted mean NCP of a state."""
        return state.privacy(self.weights)
