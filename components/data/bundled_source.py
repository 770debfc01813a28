"""The `sklearn` source: real tables that scikit-learn carries along."""

from pathlib import Path

from components.data.declarations import Bundled
from components.data.extract import Extract
from components.data.generated import extract


def read(params: Bundled, base: Path) -> Extract:
    """Load one of scikit-learn's tables: features, then target; diabetes in its own units.

    Parameters
    ----------
    params : Bundled
    base : Path
        Unused: the tables lie inside scikit-learn.
    """
    del base
    from sklearn import datasets

    load = getattr(datasets, f"load_{params.table}")
    settings = {"scaled": False} if params.table == "diabetes" else {}
    return extract(params.table, load(as_frame=True, **settings).frame, scheme="sklearn")
