"""Modules handed over in Python: classes, objects, and modules that are trained already."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from components.data.encoding import Encoder
from components.data.table import Table
from components.models import load, torch_modules, utility, wrap_torch, wrap_trained_torch
from components.models.declarations import TorchTraining
from components.models.torch_modules import MLP
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError

Patients = Callable[..., Table]
Schemas = Callable[..., DatasetSchema]

FEW = TorchTraining(epochs=100, learning_rate=0.01)


class Twins(nn.Module):
    """Two layers; its parameter is its width."""

    def __init__(self, inputs: int, outputs: int, *, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, outputs))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        found: torch.Tensor = self.layers(features)
        return found


class ByAge(nn.Module):
    """Gives what was made of the first feature, the age."""

    def __init__(self, turn: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.turn = turn

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return it."""
        return self.turn(features[:, 0])


def test_a_class_and_an_object_are_trained(patients: Patients) -> None:
    train, test = patients("grade"), patients("grade", seed=1)
    inputs = len(Encoder.from_schema(train.schema, train.schema.features).names)
    module = Twins(inputs, 3, width=12)
    before = {key: value.clone() for key, value in module.state_dict().items()}
    models = [
        wrap_torch(Twins, train.schema, 0, params={"width": 12}, training=FEW),
        wrap_torch(module, train.schema, 0, training=FEW),
    ]
    for model in models:
        assert model.trains
        assert (utility(model.fit(train), test)[0].value or 0) > 0.7
    assert all(torch.equal(before[key], value) for key, value in module.state_dict().items())


def test_each_fit_of_an_object_starts_from_its_weights(patients: Patients) -> None:
    train = patients(rows=80)
    inputs = len(Encoder.from_schema(train.schema, train.schema.features).names)
    model = wrap_torch(Twins(inputs, 2, width=4), train.schema, 0, training=TorchTraining(epochs=2))
    first = model.fit(train).scores(train.frame)
    assert (model.fit(train).scores(train.frame) == first).all()


def test_a_class_is_saved_where_it_is_registered(
    patients: Patients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = patients(rows=60)
    model = wrap_torch(Twins, train.schema, 0, params={"width": 4}, training=TorchTraining(epochs=1)).fit(train)
    with pytest.raises(ConfigurationError, match="Twins is not registered, so its files could not be read back"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    point = EntryPoint("twins", f"{__name__}:Twins", torch_modules.GROUP)
    monkeypatch.setattr(torch_modules, "entry_points", lambda group: [point])  # noqa: ARG005
    model = wrap_torch(Twins, train.schema, 0, params={"width": 4}, training=TorchTraining(epochs=1)).fit(train)
    model.save(tmp_path / "model")
    assert (load(tmp_path / "model").predict(train.frame) == model.predict(train.frame)).all()


def test_the_network_that_ships_can_be_handed_over(patients: Patients, tmp_path: Path) -> None:
    train = patients(rows=60)
    model = wrap_torch(MLP, train.schema, 0, params={"hidden": [4]}, training=TorchTraining(epochs=1)).fit(train)
    model.save(tmp_path)
    assert (load(tmp_path).predict(train.frame) == model.predict(train.frame)).all()


def test_models_are_copied_and_sent_to_other_processes(patients: Patients) -> None:
    table = patients(rows=60)
    for model in (
        wrap_torch(Twins, table.schema, 0, params={"width": 4}, training=TorchTraining(epochs=1)).fit(table),
        wrap_torch(nn.Linear(10, 2), table.schema, 0, training=TorchTraining(epochs=1)).fit(table),
        wrap_trained_torch(nn.Linear(10, 2), table.schema),
    ):
        for again in (deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301  # our own
            assert np.array_equal(again.scores(table.frame), model.scores(table.frame))
            assert not again.trains or np.array_equal(again.fit(table).predict(table.frame), model.predict(table.frame))


def test_what_can_not_be_trained_is_refused(patients: Patients) -> None:
    schema = patients().schema
    with pytest.raises(ConfigurationError, match="labels can't be trained"):
        wrap_torch(Twins, schema, 0, outputs="labels")
    with pytest.raises(ConfigurationError, match="Twins needs it"):
        wrap_torch(Twins, schema, 0)
    with pytest.raises(ConfigurationError, match="are for a class"):
        wrap_torch(nn.Linear(10, 2), schema, 0, params={"width": 3})


def test_a_trained_classifier_is_asked_in_every_form(patients: Patients) -> None:
    table = patients()
    truth = np.where(table.frame["age"] / 100 > 0.5, "ill", "well")
    forms = {
        "logits": lambda age: torch.stack([0 * age, age - 0.5], dim=1),
        "probabilities": lambda age: age[:, None],
        "labels": lambda age: (age > 0.5).long(),
    }
    for form, turn in forms.items():
        model = wrap_trained_torch(ByAge(turn), table.schema, outputs=form)
        assert not model.trains
        assert (model.predict(table.frame) == truth).all()
        assert (model.scores(table.frame) is None) == (form == "labels")


def test_a_trained_regressor_gives_the_targets_own_numbers(patients: Patients, schema_of: Schemas) -> None:
    table = patients("cost")
    model = wrap_trained_torch(ByAge(lambda age: 10 * age), schema_of("cost", min=None, max=None))
    assert model.predict(table.frame) == pytest.approx(table.frame["age"] / 10, rel=1e-6)
    assert model.learned == ()


def test_a_trained_module_has_no_fit_and_no_files(patients: Patients, tmp_path: Path) -> None:
    table = patients()
    module = nn.Linear(10, 2)
    model = wrap_trained_torch(module, table.schema)
    before = model.predict(table.frame)
    nn.init.zeros_(module.weight)
    assert (model.predict(table.frame) == before).all()
    with pytest.raises(TypeError, match="can't be fitted again"):
        model.fit(table)
    with pytest.raises(ConfigurationError, match="not registered"):
        model.save(tmp_path)


def test_a_trained_module_that_does_not_fit_is_refused(patients: Patients) -> None:
    schema = patients().schema
    with pytest.raises(ConfigurationError, match=r"Linear can't predict from 10 features \(RuntimeError\)"):
        wrap_trained_torch(nn.Linear(7, 2), schema)
    with pytest.raises(ConfigurationError, match=r"gives an output of shape \(2, 5\)"):
        wrap_trained_torch(nn.Linear(10, 5), schema)
    with pytest.raises(ConfigurationError, match="2 of 2 rows have no probabilities"):
        wrap_trained_torch(ByAge(lambda age: age + 7), schema, outputs="probabilities")
