"""Reference lines: what a figure has to be compared with before it means anything."""

from components.models.declarations import AnySklearn
from components.models.interface import Model, build
from schemas.dataset import DatasetSchema

NEAR_LEAST_SQUARES = 1e-3
"""L2 penalty of the linear line in regression: none to speak of, but one-hot features, which add up to one, stay
solvable."""


def reference_models(schema: DatasetSchema, seed: int, *, learn: bool = False) -> dict[str, Model]:
    """Return the reference models, not yet fitted, by their scope in metrics.csv.

    Parameters
    ----------
    schema : DatasetSchema
        Gives task, targets and features.
    seed : int
        The run's root seed.
    learn : bool, default False
        As in `components.models.build`.

    Returns
    -------
    dict of str to Model
        ``constant``: the most frequent class; for regression the mean, which is best by squared error (its r2 on the
        rows it was fitted on is 0) but not by absolute error, where the median would be. ``linear``: logistic
        regression; for regression least squares.
    """
    if schema.task == "regression":
        constant = AnySklearn(estimator="DummyRegressor", params={"strategy": "mean"})
        linear = AnySklearn(estimator="Ridge", params={"alpha": NEAR_LEAST_SQUARES})
    else:
        constant = AnySklearn(estimator="DummyClassifier", params={"strategy": "most_frequent"})
        linear = AnySklearn(estimator="LogisticRegression", params={"max_iter": 1000})
    return {
        "constant": build(constant, schema, seed, learn=learn),
        "linear": build(linear, schema, seed, learn=learn),
    }
