"""skops archives whose bytes depend on their content alone, and that load without unpickling.

A skops archive is a zip of ``schema.json`` (a tree of nodes) and NumPy files. skops numbers nodes and files by memory
address and stamps them with the time; here nodes are numbered as they come, files are named by their content, and
times are fixed, so that equal estimators have equal bytes.
"""

import json
from collections import defaultdict
from hashlib import sha256
from io import BytesIO
from pathlib import PurePath
from typing import Any
from warnings import catch_warnings
from zipfile import BadZipFile, ZipFile

import numpy as np
import skops.io
from skops.io.exceptions import UnsupportedTypeException, UntrustedTypesFoundException

from components.models.packing import packed
from schemas.faults import ConfigurationError, DataError, Fault

METRICS = (
    "BrayCurtis Canberra Chebyshev Dice Euclidean Hamming Haversine Jaccard Kulsinski Mahalanobis Manhattan Matching "
    "Minkowski RogersTanimoto RussellRao SEuclidean SokalMichener SokalSneath"
)

TRUSTED = frozenset(
    {
        "sklearn._loss.loss.HalfTweedieLoss",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.gaussian_process.kernels.ConstantKernel",
        "sklearn.gaussian_process.kernels.Product",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
    }
    | {f"sklearn.metrics._dist_metrics.{metric}Distance64" for metric in METRICS.split()}
)
"""Types of scikit-learn's own estimators that skops doesn't trust by itself. No archive needs, or gets, another."""

IMMUTABLE = frozenset({"JsonNode", "TupleNode", "DTypeNode"})


def dump(estimator: Any) -> tuple[bytes, tuple[str, ...]]:
    """Write an estimator.

    Parameters
    ----------
    estimator : sklearn.base.BaseEstimator
        Fitted.

    Returns
    -------
    bytes
        The archive.
    tuple of str
        The types in it that `load` must be told to trust.

    Raises
    ------
    ConfigurationError
        The estimator holds what no safe file can hold.
    """
    name = type(estimator).__name__
    try:
        archive = skops.io.dumps(estimator)
    except (UnsupportedTypeException, TypeError, RecursionError):
        raise ConfigurationError(_unsafe(name)) from None
    types = tuple(skops.io.get_untrusted_types(data=archive))
    if not TRUSTED.issuperset(types):
        raise ConfigurationError(_unsafe(name))
    return _canonical(archive), types


def load(archive: bytes, trusted: tuple[str, ...]) -> Any:
    """Read an estimator back; nothing is unpickled, and only listed types are made.

    Raises
    ------
    DataError
        `trusted` goes beyond what this project's own archives need, or the archive holds other types or is damaged.
    """
    if not TRUSTED.issuperset(trusted):
        raise DataError(Fault("model.json", "asks to trust types that no model of this project needs"))
    try:
        with catch_warnings(action="ignore"):  # of a deprecated class: the model's notes tell it
            return skops.io.loads(archive, trusted=list(trusted))
    except UntrustedTypesFoundException:
        raise DataError(Fault("model.skops", "holds types that model.json doesn't list")) from None
    except (BadZipFile, KeyError, ValueError, TypeError, AttributeError, ImportError, EOFError, RecursionError):
        raise DataError(
            Fault("model.skops", "not a readable archive of this scikit-learn version", remedy="train again")
        ) from None


def _unsafe(name: str) -> Fault:
    return Fault("model", f"{name} can't be written without pickle", remedy="choose another estimator")


def _canonical(archive: bytes) -> bytes:
    """Write the archive again with numbers, names, order and times that follow from its content."""
    with ZipFile(BytesIO(archive)) as source:
        content = {name: _unpadded(source.read(name), name) for name in source.namelist()}
    tree = json.loads(content.pop("schema.json"))
    names = {name: sha256(data).hexdigest() + PurePath(name).suffix for name, data in content.items()}
    numbers: defaultdict[int, int] = defaultdict(lambda: len(numbers) + 1)  # the next number at each new address
    _renumber(tree, names, numbers)
    members = {names[name]: data for name, data in content.items()}
    members["schema.json"] = json.dumps(tree, separators=(",", ":"), ensure_ascii=False).encode()
    return packed(members)


def _unpadded(data: bytes, name: str) -> bytes:
    """Write a NumPy file of records again with zeros between the fields, where memory holds whatever was there."""
    if not name.endswith(".npy"):
        return data
    records = np.load(BytesIO(data), allow_pickle=False)
    if records.dtype.names is None:
        return data
    clean = np.zeros(records.shape, records.dtype)
    for field in records.dtype.names:
        clean[field] = records[field]
    buffer = BytesIO()
    np.save(buffer, clean, allow_pickle=False)
    return buffer.getvalue()


def _renumber(node: Any, names: dict[str, str], numbers: defaultdict[int, int]) -> None:
    """Give nodes numbers in the order they come, and files their new names, in place.

    Nodes of one number are one object when they are loaded. Whether two equal immutable objects are one is up to the
    interpreter and means nothing, so each of them gets a number of its own.
    """
    if isinstance(node, list):
        for item in node:
            _renumber(item, names, numbers)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("__id__"), int):
        # NumPy scalars are written as arrays, but are as immutable as any number.
        scalar = node["__loader__"] == "NdArrayNode" and node["__class__"] != "ndarray"
        alone = scalar or node["__loader__"] in IMMUTABLE
        node["__id__"] = numbers[-len(numbers) - 1] if alone else numbers[node["__id__"]]
    if isinstance(node.get("file"), str):
        node["file"] = names.get(node["file"], node["file"])
    for item in node.values():
        _renumber(item, names, numbers)
