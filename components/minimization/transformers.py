"""The transformers, one per method that generalises rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from components.minimization.arguments import named
from components.minimization.attributes import Outside
from components.minimization.base import Minimizer
from components.minimization.declarations import Greedy, Tree
from components.minimization.generalizer import Generalizer
from components.minimization.inferred import Groups
from schemas.dataset import DatasetSchema
from schemas.generalizations import Cell, Generalizations


class TreeMinimizer(Minimizer):
    """Minimisation by the cells of a tree (``minimization=tree``; Goldsteen et al., arXiv 2008.04113).

    Parameters
    ----------
    estimator, schema, columns, groups, target, regression, cells, generalizations
        See `Minimizer`.
    calibration_share, weights, min_rows, search_rows, outside, random_state
        See `Minimizer`.
    use : {"representatives", "ranges"}
        Rows get the representatives of their cell, or each column that of its own range or group.
    representative : {"domain", "row"}
        Values of the domain, or an actual row of the rows fitted on.
    max_depth : int, optional
        Of the tree before it is pruned.

    Examples
    --------
    >>> minimizer = TreeMinimizer(model, target=0.95).fit(train)  # doctest: +SKIP
    >>> minimizer.transform(fresh)  # doctest: +SKIP
    """

    def __init__(  # noqa: PLR0913  # scikit-learn's way: each parameter is an argument
        self,
        estimator: Any = None,
        *,
        schema: DatasetSchema | None = None,
        columns: Sequence[str] | str | None = None,
        groups: Groups | None = None,
        target: float | None = 0.998,
        regression: bool | None = None,
        cells: Sequence[Cell | Mapping[str, Any]] | None = None,
        generalizations: Generalizations | Generalizer | Mapping[str, Any] | str | Path | None = None,
        calibration_share: float = 0.3,
        weights: Mapping[str, float] | None = None,
        min_rows: int = 10,
        search_rows: int = 20_000,
        outside: Outside = "default",
        use: Literal["representatives", "ranges"] = "representatives",
        representative: Literal["domain", "row"] = "domain",
        max_depth: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            schema=schema,
            columns=columns,
            groups=groups,
            target=target,
            regression=regression,
            cells=cells,
            generalizations=generalizations,
            calibration_share=calibration_share,
            weights=weights,
            min_rows=min_rows,
            search_rows=search_rows,
            outside=outside,
            random_state=random_state,
        )
        self.use = use
        self.representative = representative
        self.max_depth = max_depth

    def declaration(self) -> Tree:
        """Return the method's own parameters, checked."""
        return Tree(
            columns=named(self.columns),
            target=self.target,
            calibration_share=self.calibration_share,
            min_rows=self.min_rows,
            search_rows=self.search_rows,
            outside=self.outside,
            use=self.use,
            representative=self.representative,
            max_depth=self.max_depth,
        )


class GreedyMinimizer(Minimizer):
    """Minimisation by a joint greedy search over one ladder per column (``minimization=greedy``).

    Parameters
    ----------
    estimator, schema, columns, groups, target, regression, cells, generalizations
        See `Minimizer`.
    calibration_share, weights, min_rows, search_rows, outside, random_state
        See `Minimizer`.
    use : {"representatives", "ranges"}
        Rows get the representatives of their cell, or each column that of its own range or group.
    parts : int
        Most ranges or groups of a column below its exact values.
    hierarchies : bool
        Climb the schema's hierarchies where columns have one.
    order : {"permutation", "shap"}
        Importance that the first order of columns follows.
    back_steps : int
        Rounds of steps back, and other steps forward, at the end.
    """

    def __init__(  # noqa: PLR0913  # scikit-learn's way: each parameter is an argument
        self,
        estimator: Any = None,
        *,
        schema: DatasetSchema | None = None,
        columns: Sequence[str] | str | None = None,
        groups: Groups | None = None,
        target: float | None = 0.998,
        regression: bool | None = None,
        cells: Sequence[Cell | Mapping[str, Any]] | None = None,
        generalizations: Generalizations | Generalizer | Mapping[str, Any] | str | Path | None = None,
        calibration_share: float = 0.3,
        weights: Mapping[str, float] | None = None,
        min_rows: int = 10,
        search_rows: int = 20_000,
        outside: Outside = "default",
        use: Literal["representatives", "ranges"] = "representatives",
        parts: int = 32,
        hierarchies: bool = False,
        order: Literal["permutation", "shap"] = "permutation",
        back_steps: int = 1,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            schema=schema,
            columns=columns,
            groups=groups,
            target=target,
            regression=regression,
            cells=cells,
            generalizations=generalizations,
            calibration_share=calibration_share,
            weights=weights,
            min_rows=min_rows,
            search_rows=search_rows,
            outside=outside,
            random_state=random_state,
        )
        self.use = use
        self.parts = parts
        self.hierarchies = hierarchies
        self.order = order
        self.back_steps = back_steps

    def declaration(self) -> Greedy:
        """Return the method's own parameters, checked."""
        return Greedy(
            columns=named(self.columns),
            target=self.target,
            calibration_share=self.calibration_share,
            min_rows=self.min_rows,
            search_rows=self.search_rows,
            outside=self.outside,
            use=self.use,
            parts=self.parts,
            hierarchies=self.hierarchies,
            order=self.order,
            back_steps=self.back_steps,
        )
