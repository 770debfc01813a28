"""Models: one wrapper per framework behind one small interface.

The heavy modules are imported when one of these names is first used, so that the declarations stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from components.models.callable_model import CallableModel
    from components.models.figures import Figure, utility
    from components.models.inputs import as_frame
    from components.models.interface import Model, build, check
    from components.models.joint_model import JointModel, load
    from components.models.keras_engine import wrap_keras, wrap_trained_keras
    from components.models.predictions_model import PredictionsModel
    from components.models.reference import reference_models
    from components.models.target import Target
    from components.models.torch_wrapping import wrap_torch, wrap_trained_torch

__all__ = [
    "CallableModel",
    "Figure",
    "JointModel",
    "Model",
    "PredictionsModel",
    "Target",
    "as_frame",
    "build",
    "check",
    "load",
    "reference_models",
    "utility",
    "wrap_keras",
    "wrap_torch",
    "wrap_trained_keras",
    "wrap_trained_torch",
]

_HOMES = {
    "CallableModel": "callable_model",
    "Figure": "figures",
    "JointModel": "joint_model",
    "Model": "interface",
    "PredictionsModel": "predictions_model",
    "Target": "target",
    "as_frame": "inputs",
    "build": "interface",
    "check": "interface",
    "load": "joint_model",
    "reference_models": "reference",
    "utility": "figures",
    "wrap_keras": "keras_engine",
    "wrap_torch": "torch_wrapping",
    "wrap_trained_keras": "keras_engine",
    "wrap_trained_torch": "torch_wrapping",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
