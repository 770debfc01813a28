"""Minimisation as scikit-learn transformers, for use without a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from components.data.order import canonical_order
from components.minimization.arguments import checked, refuse_other_kinds
from components.minimization.attributes import Outside, attributes_of
from components.minimization.contract import to_contract
from components.minimization.declarations import Targeted
from components.minimization.generalizer import Generalizer
from components.minimization.given import given_generalizer
from components.minimization.holdout import asked_target
from components.minimization.inferred import Groups, inferred_schema
from components.minimization.predicting import Predicting, as_table, is_regression, standing_in
from components.minimization.problem import Answers, Problem, Rows, agreement
from components.minimization.result import Found
from components.minimization.steadiness import refuse_unsteady
from components.minimization.strange_rows import refuse_not_hot, strange_notes
from components.randomness import stream
from components.registry import load as load_component
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.generalizations import Cell, Generalizations

Positions = npt.NDArray[np.int64]
Table = Any
"""A DataFrame, or an array of shape (rows, columns)."""


class Minimizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """What the transformers have in common: rows in, the same rows out with no more in them than the model needs.

    ``fit`` holds rows out to say where to stop, but none to judge: what holds on fresh rows is for `score`, on rows
    that ``fit`` never saw. A run judges by itself, with a lower bound.

    Parameters
    ----------
    estimator : object, optional
        The fitted model: anything with ``predict``, such as a pipeline with its encoder inside, or a function of rows.
        It is used as it is, also by clones of the transformer. Without it ``fit`` takes the model's predictions as
        ``y``, and a decision tree that learned them stands in where new rows must be asked about.
    schema : DatasetSchema, optional
        Says what columns are and which values they may take. Without it both are taken from the rows, which
        `notes_` says: values of rows then stand in what is found.
    columns : list of str, or str, optional
        Columns to minimise; all by default.
    groups : mapping of str to list of str, or list of lists, optional
        One-hot columns that are one attribute, where there is no schema to say so.
    target : float or None
        Least agreement with the model's own predictions (regression: R2, of each output). None: the strictest of
        `components.minimization.declarations.TARGETS` that as many rows as say where to stop could show.
    regression : bool, optional
        By default as the estimator says, else as predictions look.
    cells : list of Cell or mapping, optional
        Cells to use instead of fitting (see `schemas.generalizations.Cell`), over the attributes of `schema` that
        their representatives name.
    generalizations : Generalizations, Generalizer, mapping or path, optional
        What to use instead of fitting.
    calibration_share : float
        Share of the rows that says where to stop.
    weights : mapping of str to float, optional
        How much more an attribute's exactness weighs than that of one with 1; positive numbers, by attribute.
    min_rows : int
        Least rows in a range, group or cell.
    search_rows : int
        Most rows that are searched on, and most that say where to stop; a sample of all.
    outside : {"default", "refuse"}
        Whether values outside the domain count as the default (numbers: the nearer bound) and rows in no cell get
        defaults, or both are refused.
    random_state : int, RandomState instance or None

    Attributes
    ----------
    generalizer_ : Generalizer
    generalizations_ : Generalizations
        What to collect, as ``generalizations.json`` holds it.
    agreement_ : float
        With the model's own predictions, on the rows that said where to stop: fresh rows may agree a little less.
    ncp_ : float
        Mean over attributes of the information lost, on the same rows.
    notes_ : list of str
    steps_ : pandas.DataFrame
        What was tried.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
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
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.schema = schema
        self.columns = columns
        self.groups = groups
        self.target = target
        self.regression = regression
        self.cells = cells
        self.generalizations = generalizations
        self.calibration_share = calibration_share
        self.weights = weights
        self.min_rows = min_rows
        self.search_rows = search_rows
        self.outside = outside
        self.random_state = random_state

    def declaration(self) -> Targeted:
        """Return the method's own parameters, checked."""
        raise NotImplementedError

    def fit(self, X: Table, y: Any = None) -> Self:  # noqa: N803  # scikit-learn's names
        """Find out how little of each column the model needs.

        Parameters
        ----------
        X : DataFrame or array_like, shape (rows, columns)
            The model may have learned from them.
        y : array_like, shape (rows,) or (rows, outputs), optional
            The model's predictions, where there is no `estimator`; else not looked at.

        Returns
        -------
        Minimizer
            Itself.

        Raises
        ------
        ConfigurationError, DataError
            The parameters, or the rows, are not fit for it; the model's answers are none, or that to a row hangs on
            more than the row.
        ValueError
            There is neither an estimator nor `y`; there are fewer than two rows; or what scikit-learn refuses.
        """
        refuse_other_kinds(self.schema, self.groups, self.cells)
        frame = self._frame(X, reset=True)
        if self._given():
            self.generalizer_ = given_generalizer(self.cells, self.generalizations, self.schema, self.outside)
            return self
        if len(frame) < 2:
            raise ValueError(f"n_samples={len(frame)}: at least 2 samples are needed, to fit and to calibrate")
        schema = self.schema or inferred_schema(frame, self.groups)
        params = checked(self.declaration, self.weights, schema)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        attributes = tuple(attributes_of(schema, params.columns or list(frame.columns), learn_from=frame))
        sides = self._sides(frame, params, seed)
        answers = self._answers(X, frame, y, sides, seed)
        fit, calibration = (
            Rows.of(frame.iloc[rows], each, attributes) for rows, each in zip(sides, answers, strict=True)
        )
        if self.estimator is not None:
            refuse_unsteady(self.predicting_, fit, seed)
        looked_at = frame.iloc[np.concatenate(sides)]
        refuse_not_hot(attributes, looked_at)
        problem = Problem(
            attributes,
            self.predicting_,
            regression=self.predicting_.classes is None,
            fit=fit,
            calibration=calibration,
            report_rows=len(calibration),
            target=self._target(params, len(calibration)),
            weights=self.weights or {},
            seed=seed,
        )
        self._keep(load_component(params.component)(params, problem), problem)
        self.notes_ += strange_notes(attributes, looked_at)
        return self

    def transform(self, X: Table) -> Table:  # noqa: N803
        """Return rows with what is not needed replaced by what stands for it; all else stays.

        Parameters
        ----------
        X : DataFrame or array_like, shape (rows, columns)
            A frame may lack columns that are not collected; they are there in what is returned.

        Returns
        -------
        DataFrame or ndarray, shape (rows, columns)
            As `X` is one.

        Raises
        ------
        DataError
            A column is absent or of another kind; or what ``outside="refuse"`` refuses.
        """
        check_is_fitted(self)
        frame = self._frame(self._completed(X), reset=False)
        new = self._generalizer().transform(frame)
        return new if isinstance(X, pd.DataFrame) else new.to_numpy(dtype=np.asarray(X).dtype)

    def score(self, X: Table, y: Any = None) -> float:  # noqa: N803
        """Return the agreement of the model's answers to generalised rows with its own (regression: least R2).

        Parameters
        ----------
        X : DataFrame or array_like, shape (rows, columns)
            For an honest figure, rows that neither the model nor ``fit`` saw.
        y : array_like, optional
            The model's predictions, where there is no `estimator`; without them those of the tree that stands in.
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        if self.estimator is None and not hasattr(self, "predicting_"):
            raise ValueError("there is no estimator to score with")
        predicting = self.predicting_ if hasattr(self, "predicting_") else self._asking(X, frame)
        own = predicting(frame) if self.estimator is not None or y is None else predicting.answers(y)
        return agreement(own, self._generalizer().answers(frame, predicting), regression=predicting.classes is None)

    def __sklearn_is_fitted__(self) -> bool:
        """Say whether rows can be transformed: after ``fit``, or with cells or generalizations given."""
        return hasattr(self, "generalizer_") or self._given()

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that shares the model: it is what is looked at, not a part to be fitted."""
        params = self.get_params(deep=False)
        copied = {name: value if name == "estimator" else clone(value, safe=False) for name, value in params.items()}
        new = type(self)(**copied)
        if hasattr(self, "_sklearn_output_config"):
            new._sklearn_output_config = dict(self._sklearn_output_config)  # noqa: SLF001  # as scikit-learn does
        return new

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn should know: text and missing cells are fine, and predictions may be required."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self.estimator is None and not self._given()
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        return tags

    def _given(self) -> bool:
        return self.cells is not None or self.generalizations is not None

    def _generalizer(self) -> Generalizer:
        """Return what transforms rows: learned, or given."""
        if hasattr(self, "generalizer_"):
            return self.generalizer_
        return given_generalizer(self.cells, self.generalizations, self.schema, self.outside)

    def _frame(self, X: Table, *, reset: bool) -> pd.DataFrame:  # noqa: N803
        """Return rows as a frame, checked as scikit-learn does; columns of an array are called x0, x1, ..."""
        fitted = reset or hasattr(self, "n_features_in_")  # what is given needs no fit
        if isinstance(X, pd.DataFrame):
            twice = X.columns[X.columns.duplicated()].unique()
            if len(twice):
                raise DataError([Fault(f"column '{name}'", "stands twice in the table") for name in twice])
            if fitted:
                validate_data(self, X, reset=reset, skip_check_array=True)
            if not len(X):
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return X
        checks: dict[str, Any] = {"dtype": None, "ensure_all_finite": "allow-nan"}
        array = validate_data(self, X, reset=reset, **checks) if fitted else check_array(X, **checks)
        frame = pd.DataFrame(array, columns=[f"x{place}" for place in range(array.shape[1])])
        return frame.infer_objects() if array.dtype == object else frame

    def _completed(self, X: Table) -> Table:  # noqa: N803
        """Return rows with the columns that are not collected where a frame has none, in the order of ``fit``."""
        known = list(getattr(self, "feature_names_in_", ()))
        if not isinstance(X, pd.DataFrame) or list(X.columns) == known:
            return X
        new = self._generalizer().completed(X)
        # Columns in another order than at fit are scikit-learn's to refuse.
        fits = set(new.columns) == set(known) and list(X.columns) == [name for name in known if name in X.columns]
        return new[known] if fits else new

    def _target(self, params: Targeted, calibration_rows: int) -> float:
        """Return the target, without one the strictest that as many report rows as there are to calibrate can show."""
        if params.target is not None:
            return params.target
        regression = self.predicting_.classes is None
        found = asked_target(params, calibration_rows, regression=regression)
        if found is None:
            problem = f"none is given, and {calibration_rows} rows to calibrate on can show none"
            raise ConfigurationError(Fault("target", problem, "a target, or more rows"))
        return found

    def _sides(self, frame: pd.DataFrame, params: Targeted, seed: int) -> tuple[Positions, Positions]:
        """Return the positions of rows to fit and to calibrate on, by what the rows are, in canonical order."""
        order = canonical_order(frame)
        held = min(max(round(params.calibration_share * len(order)), 1), len(order) - 1)
        drawn = stream(seed, "minimization-split").permutation(len(order))
        fit, calibration = (each[: params.search_rows] for each in (drawn[held:], drawn[:held]))
        return order[np.sort(fit)], order[np.sort(calibration)]

    def _answers(
        self,
        X: Table,  # noqa: N803
        frame: pd.DataFrame,
        y: Any,
        sides: tuple[Positions, Positions],
        seed: int,
    ) -> list[Answers]:
        """Settle what is asked, and return the model's answers to both sides."""
        if self.estimator is not None:
            self.predicting_ = self._asking(X, frame.iloc[np.concatenate(sides)])
            return [self.predicting_(frame.iloc[rows]) for rows in sides]
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "it is the model's predictions, where no estimator is given"
            )
        check_consistent_length(frame, y)
        told = [as_table(y)[rows] for rows in sides]
        schema = self.schema or inferred_schema(frame, self.groups)
        attributes = attributes_of(schema, list(frame.columns), learn_from=frame)
        self.predicting_ = standing_in(attributes, frame.iloc[sides[0]], told[0], y, self.regression, seed)
        return [self.predicting_.answers(each) for each in told]

    def _asking(self, X: Table, frame: pd.DataFrame) -> Predicting:  # noqa: N803
        """Return what asks the estimator, about frames or arrays as `X` is one; `frame` tells its classes."""
        predict = getattr(self.estimator, "predict", self.estimator)
        dtype = None if isinstance(X, pd.DataFrame) else np.asarray(X).dtype
        predictions = as_table(predict(frame if dtype is None else frame.to_numpy(dtype=dtype)), len(frame))
        regression = is_regression(self.estimator, predictions) if self.regression is None else self.regression
        return Predicting.of(predict, predictions, regression=regression, dtype=dtype)

    def _keep(self, found: Found, problem: Problem) -> None:
        """Take over what was found, with what it keeps and loses on the calibration rows."""
        generalizer, calibration = found.minimized, problem.calibration
        if not isinstance(generalizer, Generalizer):
            raise TypeError(f"{type(generalizer).__name__} transforms no rows")
        losses = generalizer.losses(generalizer.encode(calibration.frame))
        now = generalizer.answers(calibration.frame, problem.ask)
        self.generalizer_ = generalizer
        self.generalizations_ = to_contract(generalizer, losses, None, self.predicting_.outputs())
        self.agreement_ = agreement(calibration.answers, now, regression=problem.regression)
        self.ncp_ = sum(losses.values()) / len(losses)
        learned = [each.name for each in problem.attributes if each.learned]
        self.notes_ = [f"domains are taken from the rows: {', '.join(learned)}"] * bool(learned) + list(found.notes)
        if self.estimator is None:
            self.notes_ += self._of_stand_in(problem)
        self.steps_ = found.steps

    def _of_stand_in(self, problem: Problem) -> list[str]:
        """Say how far the tree that stands in for a model is that model."""
        there = problem.calibration
        own = agreement(there.answers, problem.ask(there.frame), regression=problem.regression)
        measure = "R2" if problem.regression else "agreement"
        note = f"a decision tree stands in for the model: {measure} {own:.3f} with its predictions of rows as they are"
        return [note if own >= problem.target else f"{note}, so that no target of {problem.target:g} can be kept"]
