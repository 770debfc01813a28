"""Torch models: they learn, answer alike however they are asked, read back, and leave torch as it was."""

import json
from collections.abc import Callable
from hashlib import sha256
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from components.data.table import Table
from components.models import build, check, load, reference_models, torch_modules, utility
from components.models.declarations import Mlp, TorchModule
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

FILES = ["weights.npz", "encoder.json", "model.json"]

Patients = Callable[..., Table]
Schemas = Callable[..., DatasetSchema]


class Net(nn.Module):
    """A network of a user's, with a buffer and draws of its own."""

    def __init__(self, inputs: int, outputs: int, width: int = 16) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.norm = nn.BatchNorm1d(width)
        self.last = nn.Linear(width, outputs)
        self.register_buffer("shift", torch.rand(1))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        found: torch.Tensor = self.last(
            nn.functional.dropout(self.norm(self.first(features)).relu(), 0.1, self.training)
        )
        return found


class Chances(nn.Module):
    """Gives one probability, of the last of two classes."""

    def __init__(self, inputs: int, outputs: int) -> None:  # noqa: ARG002  # one column whatever is asked
        super().__init__()
        self.only = nn.Linear(inputs, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return probabilities."""
        return torch.sigmoid(self.only(features)).reshape(-1)


class Wide(nn.Module):
    """Gives one column too many."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.only = nn.Linear(inputs, outputs + 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return too much."""
        found: torch.Tensor = self.only(features)
        return found


class Stubborn(nn.Module):
    """Can't be made, and says a value when asked why."""

    def __init__(self, inputs: int, outputs: int) -> None:  # noqa: ARG002
        raise KeyError("ZZ-CANARY-7731")


NOT_A_MODULE = dict


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the classes of this file under short names."""
    points = {"net": "Net", "chances": "Chances", "wide": "Wide", "stubborn": "Stubborn", "dict": "NOT_A_MODULE"}
    found = [EntryPoint(name, f"{__name__}:{where}", torch_modules.GROUP) for name, where in points.items()]
    found.append(EntryPoint("gone", "no_such_package_77:Net", torch_modules.GROUP))
    named = [_of(point, SimpleNamespace(name="acme-nets", version="1.2")) for point in found]
    monkeypatch.setattr(torch_modules, "entry_points", lambda group: named if group == torch_modules.GROUP else [])


def _of(point: EntryPoint, dist: Any) -> EntryPoint:
    vars(point).update(dist=dist)
    return point


def accuracy(model: Any, test: Table) -> float:
    return utility(model, test)[0].value or 0.0


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("target", ["outcome", "grade", "back", "visits"])
def test_the_network_that_ships_learns_classes(patients: Patients, target: str) -> None:
    train, test = patients(target), patients(target, seed=1)
    model = build(Mlp(epochs=40), train.schema, 0).fit(train)
    constant = reference_models(train.schema, 0)["constant"].fit(train)
    assert accuracy(model, test) > accuracy(constant, test) + 0.25
    scores = model.scores(test.frame)
    assert scores is not None
    assert scores.sum(axis=1) == pytest.approx(1)
    assert (np.array(model.classes, dtype=object)[scores.argmax(axis=1)] == model.predict(test.frame)).all()


@pytest.mark.parametrize("bounds", [{}, {"min": None, "max": None}, {"min": -5e3, "max": 5e3}])
def test_it_learns_numbers_and_says_where_their_scale_comes_from(
    patients: Patients, schema_of: Schemas, bounds: dict[str, Any]
) -> None:
    schema = schema_of("cost", **bounds)
    train, test = Table(patients("cost").frame, schema), Table(patients("cost", seed=1).frame, schema)
    model = build(Mlp(epochs=60), schema, 0).fit(train)
    assert model.learned == (("cost",) if bounds.get("min", 0) is None else ())
    assert model.scores(test.frame) is None
    errors = np.abs(model.predict(test.frame) - test.frame["cost"])
    assert errors.mean() < 80  # the constant line: about 110


@pytest.mark.parametrize(
    "params", [Mlp(epochs=5, dropout=0.3), TorchModule(module="net", epochs=5)], ids=["mlp", "net"]
)
@pytest.mark.usefixtures("registry")
def test_equal_rows_and_seed_give_equal_bytes_whatever_the_threads(
    patients: Patients, tmp_path: Path, params: Any
) -> None:
    train = patients(rows=150)
    turned = Table(train.frame.sample(frac=1, random_state=3), train.schema)
    build(params, train.schema, 4).fit(train).save(tmp_path / "first")
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    try:
        build(params, train.schema, 4).fit(turned).save(tmp_path / "second")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
    assert content(tmp_path / "second") == content(tmp_path / "first")
    assert torch.equal(torch.get_rng_state(), state)
    build(params, train.schema, 5).fit(train).save(tmp_path / "third")
    assert content(tmp_path / "third") != content(tmp_path / "first")


@pytest.mark.parametrize(
    ("target", "params"),
    [
        ("outcome", Mlp(epochs=3)),
        ("cost", Mlp(epochs=3, hidden=[])),
        ("grade", TorchModule(module="net", params={"width": 8}, epochs=3, optimizer="sgd")),
        ("outcome", TorchModule(module="chances", outputs="probabilities", epochs=3, clip_norm=1.0)),
    ],
    ids=["mlp", "linear", "net", "chances"],
)
@pytest.mark.usefixtures("registry")
def test_a_model_reads_back_and_predicts_as_before(
    patients: Patients, tmp_path: Path, target: str, params: Any
) -> None:
    train, test = patients(target, rows=120), patients(target, seed=1)
    model = build(params, train.schema, 0).fit(train)
    assert [path.name for path in model.save(tmp_path / "first")] == FILES
    state = torch.get_rng_state()
    again = load(tmp_path / "first")
    assert torch.equal(torch.get_rng_state(), state)
    again.save(tmp_path / "second")
    assert content(tmp_path / "second") == content(tmp_path / "first")
    assert (again.predict(test.frame) == model.predict(test.frame)).all()
    assert target == "cost" or np.array_equal(again.scores(test.frame), model.scores(test.frame))
    assert again.notes == model.notes
    assert not again.trains


@pytest.mark.usefixtures("registry")
def test_a_module_of_the_user_learns(patients: Patients) -> None:
    train, test = patients(), patients(seed=1)
    for params in (
        TorchModule(module="net", epochs=30),
        TorchModule(module="chances", outputs="probabilities", epochs=60, learning_rate=0.05),
    ):
        assert accuracy(build(params, train.schema, 0).fit(train), test) > 0.8


def test_how_many_rows_are_asked_at_once_does_not_matter(patients: Patients) -> None:
    train, test = patients("grade"), patients("grade", rows=60, seed=1).frame
    model = build(Mlp(epochs=5), train.schema, 0).fit(train)
    whole = model.scores(test)
    single = np.vstack([model.scores(test.iloc[at : at + 1]) for at in range(len(test))])
    assert np.abs(whole - single).max() < 1e-12
    assert (model.predict(test)[:7] == model.predict(test.iloc[:7])).all()
    assert len(model.predict(test.iloc[:0])) == 0
    assert np.shape(model.scores(test.iloc[:0])) == (0, 3)


def test_train_rows_of_one_class_give_a_constant_that_reads_back(patients: Patients, tmp_path: Path) -> None:
    train = patients()
    one = Table(train.frame[train.frame["outcome"] == "ill"], train.schema)
    model = build(Mlp(), train.schema, 0).fit(one)
    model.save(tmp_path)
    assert set(load(tmp_path).predict(train.frame)) == {"ill"}
    assert "train rows have one class" in load(tmp_path).notes[0]


@pytest.mark.parametrize("share", [0.0, 0.99])
def test_a_single_train_row_of_a_number_is_learned(patients: Patients, share: float) -> None:
    one = patients("cost", rows=1)
    model = build(Mlp(epochs=2, validation=share), one.schema, 0)
    before = model.fit(one).predict(one.frame)
    assert np.isfinite(before).all()
    more = build(Mlp(epochs=200, validation=share), one.schema, 0).fit(one)
    assert more.predict(one.frame) == pytest.approx(one.frame["cost"], abs=5)


def test_the_file_says_whether_train_rows_may_be_inside(patients: Patients, registry: None, tmp_path: Path) -> None:  # noqa: ARG001
    train = patients(rows=40)
    for name, params in (("mlp", Mlp(epochs=1)), ("net", TorchModule(module="net", epochs=1))):
        build(params, train.schema, 0).fit(train).save(tmp_path / name)
        described = json.loads((tmp_path / name / "model.json").read_text())
        assert (described["name"], described["holds_rows"]) == (name, name == "net")


def test_an_unknown_module_gets_its_nearest(patients: Patients, registry: None) -> None:  # noqa: ARG001
    (fault,) = check(TorchModule(module="nett"), patients().schema)
    assert str(fault).startswith(
        "model.module: there is no module nett; one of chances, dict, gone, net, stubborn, wide"
    )
    assert fault.remedy == "did you mean net?"


def test_without_any_registered_module_the_group_is_told(patients: Patients) -> None:
    (fault,) = check(TorchModule(module="nett"), patients().schema)
    assert torch_modules.GROUP in fault.allowed
    with pytest.raises(ConfigurationError, match="there is no module nett"):
        build(TorchModule(module="nett"), patients().schema, 0)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (TorchModule(module="gone"), r"gone of acme-nets 1\.2 can't be loaded \(ModuleNotFoundError\)"),
        (TorchModule(module="dict"), "is no class of modules"),
        (TorchModule(module="net", params={"widht": 3}), "did you mean width"),
        (Mlp(device="cuda"), "torch finds no cuda device"),
    ],
    ids=["gone", "no module", "parameter", "device"],
)
@pytest.mark.usefixtures("registry")
def test_what_is_wrong_is_told_before_any_data(patients: Patients, params: Any, words: str) -> None:
    if torch.cuda.is_available() and params.device == "cuda":
        pytest.skip("there is a cuda device")
    with pytest.raises(ConfigurationError, match=words):
        build(params, patients().schema, 0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("wide", r"model: gives an output of shape \(2, 3\); \(2, 2\), \(2,\) or \(2, 1\)"),
        ("stubborn", r"stubborn can't be made with 10 inputs and 2 outputs \(KeyError\)"),
        ("chances", "no probabilities|shape"),
    ],
)
@pytest.mark.usefixtures("registry")
def test_a_module_that_does_not_fit_is_refused_in_our_words(patients: Patients, name: str, words: str) -> None:
    train = patients("grade" if name == "chances" else "outcome", rows=20)
    with pytest.raises(ConfigurationError, match=words) as caught:
        build(TorchModule(module=name, epochs=1), train.schema, 0).fit(train)
    assert "CANARY" not in str(caught.value)


def test_the_target_and_the_module_are_checked_together(patients: Patients) -> None:
    schema = patients().schema.model_copy(update={"target": None})
    places = [fault.place for fault in check(TorchModule(module="nett"), schema)]
    assert places == ["dataset.target", "model.module"]


@pytest.fixture
def saved(patients: Patients, tmp_path: Path, registry: None) -> Path:  # noqa: ARG001
    train = patients(rows=50)
    build(TorchModule(module="net", epochs=1), train.schema, 0).fit(train).save(tmp_path / "saved")
    return tmp_path / "saved"


def describe(folder: Path, **changes: Any) -> None:
    """Change model.json, and let its digests agree with the files as they are."""
    description = json.loads((folder / "model.json").read_text())
    description["sha256"] = {name: sha256((folder / name).read_bytes()).hexdigest() for name in FILES[:2]}
    (folder / "model.json").write_text(json.dumps(description | changes))


def test_a_changed_file_of_weights_is_refused_before_it_is_read(saved: Path) -> None:
    data = bytearray((saved / "weights.npz").read_bytes())
    data[-100] ^= 1
    (saved / "weights.npz").write_bytes(data)
    with pytest.raises(DataError, match=r"weights\.npz: not what model\.json describes"):
        load(saved)


def test_weights_of_another_module_are_refused(saved: Path, patients: Patients, tmp_path: Path) -> None:
    train = patients(rows=50)
    build(Mlp(epochs=1), train.schema, 0).fit(train).save(tmp_path / "other")
    (saved / "weights.npz").write_bytes((tmp_path / "other" / "weights.npz").read_bytes())
    describe(saved)
    with pytest.raises(DataError, match="holds other weights than net has"):
        load(saved)


def test_a_pickle_in_place_of_the_weights_is_never_opened(saved: Path) -> None:
    torch.save({"first.weight": torch.zeros(1)}, saved / "weights.npz")
    describe(saved)
    with pytest.raises(DataError, match="not a readable file of arrays"):
        load(saved)


def test_another_version_of_torch_is_refused(saved: Path) -> None:
    describe(saved, versions={"torch": "1.13.1"})
    with pytest.raises(DataError, match=r"saved with torch 1\.13\.1"):
        load(saved)


def test_another_version_of_who_registered_the_module_is_refused(saved: Path) -> None:
    described = json.loads((saved / "model.json").read_text())
    describe(saved, facts=described["facts"] | {"distribution": "acme-nets 1.3"})
    with pytest.raises(DataError, match=r"net was of acme-nets 1\.3, here it is of acme-nets 1\.2"):
        load(saved)


@pytest.mark.parametrize("facts", [{}, {"distribution": "acme-nets 1.2", "inputs": "many", "classes": 2}])
def test_facts_that_are_none_are_refused(saved: Path, facts: dict[str, Any]) -> None:
    describe(saved, facts=facts)
    with pytest.raises(DataError, match="does not say what the module is made with"):
        load(saved)


def test_a_module_that_is_no_longer_registered_is_told(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_modules, "entry_points", lambda group: [])  # noqa: ARG005
    with pytest.raises(ConfigurationError, match="there is no module net"):
        load(saved)


def test_nothing_but_numbers_is_written(patients: Patients, registry: None, tmp_path: Path) -> None:  # noqa: ARG001
    train = patients(rows=30)
    model = build(TorchModule(module="net", epochs=1), train.schema, 0).fit(train)
    model.fitted.engine.network.module.to(torch.bfloat16)  # NumPy knows no such number
    with pytest.raises(ConfigurationError, match="holds more than tensors of numbers"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
