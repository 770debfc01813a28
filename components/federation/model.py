"""What clients train together, by the configured model, and the model that comes of it.

torch is imported where a network or a model is made of it: every run looks in here, and few train together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from components.data.encoding import Encoder
from components.data.features import Features
from components.data.order import canonical_order
from components.data.table import Table
from components.federation.declarations import Local
from components.federation.layout import Weights
from components.federation.training import Dense, Looped, Stacked
from components.federation.work import Engine
from components.models.declarations import Linear, Logistic, Mlp, TorchModule
from components.models.encoded_model import EncodedModel
from components.models.saved import Fitted
from components.models.target import Scale, Target
from components.randomness import derived_seed
from schemas.dataset import Column, DatasetSchema
from schemas.declaration import Declaration
from schemas.faults import ConfigurationError, Fault

if TYPE_CHECKING:
    from components.federation.training.losses import Loss
    from components.federation.training.modules import ModuleNetwork
    from components.models.outputs import Outputs

FEDERATED = (Linear, Logistic, Mlp, TorchModule)
"""Models whose weights can be averaged."""

INITIAL = "federation-initial"
"""Name of the random stream of the first weights."""


@dataclass(frozen=True, slots=True)
class Space:
    """The one space that all clients train in: from schema and hierarchies alone, never from rows.

    Parameters
    ----------
    schema : DatasetSchema
        Of the rows as the model sees them.
    encoder : Encoder
    target : Target
    scale : Scale
    """

    schema: DatasetSchema
    encoder: Encoder
    target: Target
    scale: Scale

    @classmethod
    def of(cls, schema: DatasetSchema) -> "Space":
        """Return the space of a schema.

        Raises
        ------
        ConfigurationError
            The schema leaves open what rows would have to decide.
        """
        target = Target.from_schema(schema)
        if not target.classes:
            _refuse_open_ended(schema.column(target.column))
        scale = Scale() if target.classes else Scale.of(schema.column(target.column), np.zeros(1))
        return cls(schema, Encoder.from_schema(schema, schema.features), target, scale)

    def rows(self, table: Table) -> tuple[Features, npt.NDArray[np.generic]]:
        """Return features and targets of rows, in canonical order."""
        frame = table.frame.iloc[canonical_order(table.frame)]
        numbers = self.target.encode(frame)
        if not self.target.classes:
            numbers = self.scale.standardised(numbers).astype(np.float32)
        return self.encoder.transform(frame), numbers


def _refuse_open_ended(column: Column) -> None:
    """Ask for bounds of a number that is learned: a scale taken from rows would tell of them."""
    if column.min is None or column.max is None:
        told = "sites that train together scale a target by its bounds, and it declares none"
        raise ConfigurationError(
            Fault(f"dataset.columns.{column.name}", told, "min and max", "declare the ends of what it can be")
        )


def network_of(params: Declaration, space: Space) -> "Dense | ModuleNetwork":
    """Return the network that a model declares; `params` is one of `FEDERATED`."""
    inputs, classes = len(space.encoder.names), len(space.target.classes)
    loss: Loss = "cross_entropy" if classes else "squared"
    match params:
        case Linear() | Logistic():
            return Dense(inputs, (), classes or 1, loss=loss)
        case Mlp(dropout=0.0):
            return Dense(inputs, tuple(params.hidden), classes or 1, params.activation, loss)
    from components.federation.training.modules import ModuleNetwork
    from components.models.torch_modules import READY, registered

    match params:
        case Mlp():
            made = registered(READY, params.model_dump(include={"hidden", "activation", "dropout"}))
            return ModuleNetwork(made, inputs, classes or 1, loss)
        case TorchModule():
            return ModuleNetwork(registered(params.module, params.params), inputs, classes or 1, loss)
    raise TypeError(f"the weights of {params.name} can't be averaged")


def engine_of(network: "Dense | ModuleNetwork", backend: str, chunk: int) -> Engine:
    """Return the engine that a network can be trained by: stacked where it is dense."""
    return Stacked(chunk, "torch" if backend == "torch" else "numpy") if isinstance(network, Dense) else Looped()


def model_of(  # noqa: PLR0913  # what a description of a model is made of
    network: "Dense | ModuleNetwork",
    weights: Weights,
    space: Space,
    params: Declaration,
    local: Local,
    seed: int,
    *,
    notes: Sequence[str] = (),
    generalised: Sequence[str] = (),
) -> EncodedModel:
    """Return trained weights as a model like any other.

    Parameters
    ----------
    network : Dense or ModuleNetwork
    weights : ndarray of float64, shape (size,)
    space : Space
    params : Declaration
        Of the model.
    local : Local
        How clients trained it, for its description.
    seed : int
        The run's root seed.
    notes : sequence of str
    generalised : sequence of str
        Columns that it knows as a release has them.
    """
    from components.federation.training.modules import put_into
    from components.models.torch_engine import Network as Trained
    from components.models.torch_engine import TorchEngine
    from components.models.torch_modules import READY, registered

    module = network.module()
    put_into(module, network.layout, weights)
    training = local.model_dump(include={"epochs", "batch_size", "optimizer", "learning_rate", "weight_decay"})
    if isinstance(network, Dense):
        options: Mlp | TorchModule = Mlp(
            hidden=list(network.hidden), activation=network.activation, validation=0.0, device="cpu", **training
        )
        architecture = registered(READY, options.model_dump(include={"hidden", "activation", "dropout"}))
        form: Outputs = "logits"
    else:
        given = params if isinstance(params, Mlp | TorchModule) else Mlp()
        options = given.model_copy(update={"validation": 0.0, "device": "cpu", **training})
        architecture = network.architecture
        form = params.outputs if isinstance(params, TorchModule) else "logits"
    trained = Trained(module.eval(), network.inputs, len(space.target.classes))
    engine = TorchEngine(architecture, options, derived_seed(seed, INITIAL), form, trained)
    fitted = Fitted(engine, space.encoder, space.target, seed, space.scale, tuple(notes), tuple(generalised))
    return EncodedModel(engine, seed, space.schema, fitted=fitted)
