"""Models whose framework is an extra: it is imported only where it is there, and its absence is told."""

from components.models import target as targets
from components.models.declarations import KerasNetwork, Xgboost
from components.models.encoded_model import EncodedModel
from components.models.engine import absent
from components.models.keras_backend import backend_faults
from components.registry import load
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault


def check(params: KerasNetwork | Xgboost, schema: DatasetSchema) -> list[Fault]:
    """Return what is wrong with the target, and that the framework, or Keras's backend, is not installed."""
    missing = absent(params.name)
    if params.name == "keras":
        missing = missing or backend_faults()
    return [*targets.faults(schema), *missing]


def build(params: KerasNetwork | Xgboost, schema: DatasetSchema, seed: int, *, learn: bool = False) -> EncodedModel:
    """Make the model of a declaration (see `components.models.interface.build`)."""
    if wrong := check(params, schema):
        raise ConfigurationError(wrong)
    made: EncodedModel = load(f"components.models.{params.name}_engine:build")(params, schema, seed, learn=learn)
    return made
