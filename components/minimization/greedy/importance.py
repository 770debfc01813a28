"""How much the model's answers hang on each attribute: which of them are looked at first."""

import warnings
from collections.abc import Callable

import numpy as np

from components.minimization.greedy.trials import Trial
from components.minimization.partitions import Floats
from components.minimization.problem import replaced
from components.randomness import derived_seed, stream
from schemas.faults import ConfigurationError, Fault

EXPLAINED = 100
"""Rows that SHAP values are taken of."""

BACKGROUND = 20
"""Rows that they are compared with."""


def permuted(trial: Trial, seed: int) -> dict[str, float]:
    """Return the agreement lost when an attribute's values are shuffled among the rows (Breiman 2001), by attribute."""
    order = stream(seed, "minimization-importance").permutation(len(trial.rows))
    return {name: float(trial.lost({name: codes[order]}).mean()) for name, codes in trial.rows.codes.items()}


def shapley(trial: Trial, seed: int) -> dict[str, float]:
    """Return the mean absolute SHAP value of each attribute (Lundberg and Lee 2017), all other columns as one player.

    Raises
    ------
    ConfigurationError
        The library is not installed.
    """
    try:
        import shap
    except ImportError as error:
        raise ConfigurationError(
            Fault(
                "minimization.order",
                "shap is not installed",
                "permutation, or shap where it is installed",
                "pip install 'privacy-runner[shap]', or choose permutation",
            )
        ) from error
    rows = stream(seed, "minimization-importance").permutation(len(trial.rows))
    players = np.column_stack([*trial.rows.codes.values(), np.arange(len(rows))]).astype(np.float64)
    background, explained = players[rows[:BACKGROUND]], players[np.sort(rows[:EXPLAINED])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library about itself
        masker = shap.maskers.Independent(background, max_samples=BACKGROUND)
        before = np.random.get_state()  # noqa: NPY002  # which the library seeds
        explainer = shap.PermutationExplainer(_answering(trial), masker, seed=derived_seed(seed, "shap"))
        values = explainer(explained, max_evals=2 * players.shape[1] + 1, silent=True).values
        np.random.set_state(before)  # noqa: NPY002
    sizes = np.abs(values).reshape(len(explained), players.shape[1], -1).mean(axis=(0, 2))
    return dict(zip(trial.rows.codes, sizes[:-1].tolist(), strict=True))


def _answering(trial: Trial) -> Callable[[Floats], Floats]:
    """Return the model as a function of players: codes, and at last the row whose other columns they go with."""
    there = trial.rows.answers
    known = None if trial.spread is not None else [np.unique(output) for output in there.T]

    def answers(players: Floats) -> Floats:
        frame = trial.rows.frame.iloc[players[:, -1].astype(np.int64)]
        codes = {
            name: players[:, place].astype(column.dtype)
            for place, (name, column) in enumerate(trial.rows.codes.items())
        }
        now = trial.ask(replaced(frame, trial.attributes, codes))
        if known is None:
            return np.asarray(now / np.maximum(there.std(axis=0), np.finfo(np.float64).tiny))
        shown = [output[:, np.newaxis] == classes for output, classes in zip(now.T, known, strict=True)]
        return np.hstack(shown).astype(np.float64)

    return answers
