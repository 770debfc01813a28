"""``.keras`` files whose bytes depend on their content alone, that hold no code, and that load none.

A ``.keras`` file is a zip of the layers' configuration, their weights (HDF5), and the time of saving, which is fixed
here.
"""

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile

from components.models.keras_network import keras, quiet
from components.models.packing import packed
from schemas.faults import ConfigurationError, DataError, Fault

MODEL = "model.keras"

METADATA = json.dumps({"keras_version": keras.__version__, "date_saved": "1980-01-01@00:00:00"}).encode()

MODULES = frozenset(
    {
        *("keras", "keras.layers", "keras.initializers", "keras.regularizers", "keras.constraints"),
        *("keras.src.models.functional", "keras.src.models.sequential"),
    }
)
"""Modules of Keras that a model may be made of, beside its operations."""

OPERATIONS = "keras.src.ops."

WRAPPERS = frozenset({"Lambda", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "TFSMLayer", "MLCLayer"})
"""Layers that carry code, or call what isn't of Keras."""

PLAIN = frozenset({"__keras_tensor__", "__tensor__", "__numpy__"})
"""Marks of values in a configuration, without a module."""


def written(model: Any) -> bytes:
    """Write a model's layers and weights, without what it was trained with.

    Raises
    ------
    ConfigurationError
        It has layers that no safe file can hold.
    """
    described = keras.saving.serialize_keras_object(model)
    if strange := _strange({key: part for key, part in described.items() if key != "compile_config"}):
        kinds = ", ".join(strange)
        raise ConfigurationError(
            Fault("model", f"holds what can't be written without code ({kinds})", "layers of Keras itself")
        )
    bare = model
    if model.compiled:
        bare = type(model).from_config(model.get_config())
        bare.set_weights(model.get_weights())
    with TemporaryDirectory() as folder:
        path = Path(folder) / MODEL
        bare.save(path)
        with ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    return packed({**members, "metadata.json": METADATA})


def read(data: bytes) -> Any:
    """Read a model back; it only predicts.

    Raises
    ------
    DataError
        It is damaged, or names layers that are not of Keras itself, or that carry code.
    """
    try:
        with ZipFile(BytesIO(data)) as archive:
            strange = _strange(json.loads(archive.read("config.json")))
    except (BadZipFile, KeyError, ValueError, RecursionError):
        raise DataError(Fault(MODEL, "not a model of Keras", remedy="train again")) from None
    if strange:
        kinds = f"{len(strange)} kind{'s' if len(strange) > 1 else ''} of layer"
        raise DataError(Fault(MODEL, f"names {kinds} that this project doesn't load", "layers of Keras itself"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / MODEL
        path.write_bytes(data)
        try:
            with quiet():
                return keras.saving.load_model(path, compile=False, safe_mode=True)
        except (ValueError, TypeError, KeyError, AttributeError, OSError, RuntimeError):
            raise DataError(Fault(MODEL, "not a model of this version of Keras", remedy="train again")) from None


def _strange(config: Any) -> list[str]:
    """Return the kinds of object in a configuration that are not known to be Keras's own and without code."""
    return sorted({kind for module, kind, registered in _objects(config) if not _known(module, kind, registered)})


def _known(module: Any, kind: str, registered: Any) -> bool:
    if module is None:
        return kind in PLAIN
    ours = module in MODULES or str(module).startswith(OPERATIONS)
    return ours and kind not in WRAPPERS and registered in {None, kind}


def _objects(node: Any) -> Iterator[tuple[Any, str, Any]]:
    """Yield module, class and registered name of every object in a configuration."""
    if isinstance(node, dict):
        if "class_name" in node:
            yield node.get("module"), str(node["class_name"]), node.get("registered_name")
        for part in node.values():
            yield from _objects(part)
    elif isinstance(node, list):
        for part in node:
            yield from _objects(part)
