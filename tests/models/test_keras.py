"""Keras behind the common interface: the network that ships, and models of the user's own."""

import json
import os
import random
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from components.data.table import Table
from components.models import build, keras_files, load, utility, wrap_keras, wrap_trained_keras
from components.models.declarations import KerasNetwork, KerasTraining
from components.models.keras_engine import CHUNK
from components.models.keras_network import keras, quiet, seeded
from components.models.packing import packed
from schemas.faults import ConfigurationError, DataError

Patients = Callable[..., Table]

FEATURES = 10
"""Of the patients, encoded."""

QUICK = KerasNetwork(hidden=[16], epochs=20, batch_size=64, learning_rate=0.03, dropout=0.1)
OWN = KerasTraining(epochs=20, batch_size=64, learning_rate=0.03)


def own(outputs: int = 3, activation: str | None = "softmax") -> Any:
    with quiet():
        first = keras.Input((FEATURES,))
        flow = keras.layers.Dense(16, activation="tanh")(first)
        flow = keras.ops.relu(keras.layers.BatchNormalization(momentum=0.8)(flow)) + 0.5
        return keras.Model(first, keras.layers.Dense(outputs, activation=activation)(flow))


def weights_of(model: Any) -> list[Any]:
    with quiet():
        return [weights.tolist() for weights in model.get_weights()]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def accuracy(model: Any, table: Table) -> float:
    return float((model.predict(table.frame) == table.frame[model.target.column].to_numpy()).mean())


def test_keras_starts_on_torch_and_leaves_no_choice_behind() -> None:
    assert keras.backend.backend() == "torch"
    assert "KERAS_BACKEND" not in os.environ or os.environ["KERAS_BACKEND"] == "torch"


@pytest.mark.parametrize(
    ("target", "classes"), [("outcome", ("well", "ill")), ("grade", ("none", "some", "much")), ("back", (False, True))]
)
def test_the_network_learns_classes(patients: Patients, target: str, classes: tuple[Any, ...]) -> None:
    train, test = patients(target), patients(target, seed=1)
    model = build(QUICK, train.schema, 0).fit(train)
    assert tuple(model.classes) == classes
    assert accuracy(model, test) > 0.75
    scores = model.scores(test.frame)
    assert scores is not None
    assert scores.sum(axis=1) == pytest.approx(1)
    assert (np.array(classes, dtype=object)[scores.argmax(axis=1)] == model.predict(test.frame)).all()


def test_the_network_learns_numbers_in_their_own_unit(patients: Patients) -> None:
    train, test = patients("cost"), patients("cost", seed=1)
    model = build(QUICK, train.schema, 0).fit(train)
    assert np.abs(model.predict(test.frame) - test.frame["cost"]).mean() < 60  # the constant line: about 110
    assert model.scores(test.frame) is None
    assert model.learned == ()


@pytest.mark.parametrize("target", ["grade", "cost"])
def test_equal_rows_give_equal_bytes_and_a_saved_model_predicts_as_before(
    patients: Patients, tmp_path: Path, target: str
) -> None:
    train, test = patients(target), patients(target, seed=1)
    params = QUICK.model_copy(update={"epochs": 3})
    model = build(params, train.schema, 0).fit(train)
    files = model.save(tmp_path / "first")
    assert [path.name for path in files] == ["model.keras", "encoder.json", "model.json"]
    build(params, train.schema, 0).fit(Table(train.frame.sample(frac=1, random_state=2), train.schema)).save(
        tmp_path / "turned"
    )
    again = load(tmp_path / "first")
    again.save(tmp_path / "again")
    assert content(tmp_path / "first") == content(tmp_path / "turned") == content(tmp_path / "again")
    assert (again.predict(test.frame) == model.predict(test.frame)).all()
    assert np.array_equal(again.scores(test.frame), model.scores(test.frame))
    assert json.loads((tmp_path / "first" / "model.json").read_text())["holds_rows"] is False
    build(params, train.schema, 1).fit(train).save(tmp_path / "other")
    assert content(tmp_path / "other")["model.keras"] != content(tmp_path / "first")["model.keras"]


def test_a_row_is_answered_alike_alone_and_among_others(patients: Patients) -> None:
    train = patients("grade")
    model = build(QUICK.model_copy(update={"epochs": 2}), train.schema, 0).fit(train)
    many = patients("grade", rows=CHUNK + 5).frame
    scores = model.scores(many)
    assert scores is not None
    for rows in ([0], [CHUNK + 4], [3, 2, 1]):
        assert np.array_equal(model.scores(many.iloc[rows]), scores[rows])


def test_the_best_epoch_is_kept_and_a_loss_that_still_falls_is_noted(patients: Patients) -> None:
    train = patients()
    short = build(QUICK.model_copy(update={"epochs": 2, "learning_rate": 0.001}), train.schema, 0).fit(train)
    assert short.notes == ("the loss on held-out rows was still falling after 2 epochs; raise model.epochs",)
    jumpy = KerasNetwork(hidden=[16], epochs=40, learning_rate=0.5, optimizer="sgd", patience=3, validation=0.3)
    model: Any = build(jumpy, train.schema, 0).fit(train)
    losses = model.fitted.engine.model.history.history["val_loss"]
    assert len(losses) < 40
    encoder, target = model.fitted.encoder, model.fitted.target
    assert len(losses) - 1 - int(np.argmin(losses)) == 3
    assert accuracy(model, train) > 0.8
    assert len(encoder.names) == FEATURES
    assert target.classes == ("well", "ill")


def test_a_loss_that_explodes_is_a_fault(patients: Patients) -> None:
    params = KerasNetwork(hidden=[8], epochs=30, learning_rate=1e30, optimizer="sgd")
    with pytest.raises(ConfigurationError, match=r"model\.learning_rate: the loss is no finite number"):
        build(params, patients("cost").schema, 0).fit(patients("cost"))


def test_no_global_stream_is_moved(patients: Patients) -> None:
    import torch

    def state() -> list[Any]:
        legacy = np.random.get_state()[1]  # type: ignore[index]  # noqa: NPY002
        return [random.getstate(), np.asarray(legacy).tolist(), torch.get_rng_state().tolist(), torch.get_num_threads()]

    before = state()
    build(QUICK.model_copy(update={"epochs": 1}), patients().schema, 0).fit(patients()).predict(patients().frame)
    with pytest.raises(RuntimeError), seeded(3):
        raise RuntimeError
    assert state() == before


def test_rows_of_one_class_give_that_class(patients: Patients, tmp_path: Path) -> None:
    train = patients()
    one = build(QUICK, train.schema, 0).fit(Table(train.frame[train.frame["outcome"] == "ill"], train.schema))
    assert set(one.predict(train.frame)) == {"ill"}
    one.save(tmp_path)
    assert set(load(tmp_path).predict(train.frame)) == {"ill"}


@pytest.mark.parametrize("compiled", [False, True])
def test_a_model_of_ones_own_is_trained_and_saved(patients: Patients, tmp_path: Path, *, compiled: bool) -> None:
    train, test = patients("grade"), patients("grade", seed=1)
    model = own()
    if compiled:
        model.compile("adam", "sparse_categorical_crossentropy")
    before = weights_of(model)
    wrapped = wrap_keras(model, train.schema, training=OWN).fit(train)
    assert accuracy(wrapped, test) > (0.4 if compiled else 0.7)
    assert weights_of(model) == before
    wrapped.save(tmp_path / "first")
    again = load(tmp_path / "first")
    again.save(tmp_path / "second")
    assert content(tmp_path / "first") == content(tmp_path / "second")
    assert np.array_equal(again.scores(test.frame), wrapped.scores(test.frame))
    assert json.loads((tmp_path / "first" / "model.json").read_text())["holds_rows"] is True
    assert not again.trains


@pytest.mark.parametrize(("outputs", "activation"), [("probabilities", "sigmoid"), ("logits", None)])
def test_one_column_is_of_the_last_of_two_classes(patients: Patients, outputs: Any, activation: str | None) -> None:
    train, test = patients(), patients(seed=1)
    model = wrap_keras(own(1, activation), train.schema, outputs=outputs, training=OWN).fit(train)
    assert accuracy(model, test) > 0.8
    assert (model.scores(test.frame)).shape == (300, 2)  # type: ignore[union-attr]  # a classifier's


def test_a_trained_model_only_predicts(patients: Patients, tmp_path: Path) -> None:
    train = patients("grade")
    model = own()
    wrapped = wrap_trained_keras(model, train.schema)
    features = wrapped.fitted.encoder.transform(train.frame)
    with quiet():
        assert wrapped.scores(train.frame) == pytest.approx(model.predict(features, verbose=0), abs=1e-6)
    assert not wrapped.trains
    with pytest.raises(TypeError, match="comes trained"):
        wrapped.fit(train)
    wrapped.save(tmp_path)
    assert np.array_equal(load(tmp_path).scores(train.frame), wrapped.scores(train.frame))
    cost = patients("cost")
    numbers = own(1, None)
    with quiet():
        expected = numbers.predict(features, verbose=0)[:, 0]
    assert wrap_trained_keras(numbers, cost.schema).predict(cost.frame) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: keras.Sequential([keras.layers.Dense(3)]), r"does not say what it takes; an input of \(10,\)"),
        (
            lambda: keras.Sequential([keras.Input((9,)), keras.layers.Dense(4)]),
            r"an input of shape \(None, 9\); \(None, 10\)(.|\n)*an output of shape \(None, 4\); \(None, 3\)",
        ),
    ],
)
def test_a_model_of_another_shape_is_refused_at_once(patients: Patients, made: Callable[[], Any], told: str) -> None:
    with quiet():
        model = made()
    for wrap in (wrap_keras, wrap_trained_keras):
        with pytest.raises(ConfigurationError, match=told):
            wrap(model, patients("grade").schema)


def test_labels_can_not_be_trained(patients: Patients) -> None:
    with pytest.raises(ConfigurationError, match="labels can't be trained"):
        wrap_keras(own(), patients("grade").schema, outputs="labels").fit(patients("grade"))


class Doubled(keras.layers.Layer):  # type: ignore[misc]  # Keras is untyped
    """A layer of the user's own."""

    def call(self, inputs: Any) -> Any:
        return 2 * inputs


@keras.saving.register_keras_serializable("mine")
class Registered(Doubled):
    """A layer that Keras would find by its name."""


@pytest.mark.parametrize("layer", [Doubled, Registered, lambda: keras.layers.Lambda(abs)])
def test_layers_with_code_predict_but_are_not_written(
    patients: Patients, tmp_path: Path, layer: Callable[[], Any]
) -> None:
    with quiet():
        model = keras.Sequential([keras.Input((FEATURES,)), layer(), keras.layers.Dense(3, activation="softmax")])
    wrapped = wrap_trained_keras(model, patients("grade").schema)
    assert len(wrapped.predict(patients("grade").frame)) == 300
    with pytest.raises(ConfigurationError, match=r"holds what can't be written without code \((Doubled|Regi|Lambda)"):
        wrapped.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.fixture
def saved(patients: Patients, tmp_path: Path) -> Path:
    wrap_trained_keras(own(), patients("grade").schema).save(tmp_path)
    return tmp_path


def describe(folder: Path, **changes: Any) -> None:
    """Change model.json, and let its digests agree with the files as they are."""
    described = json.loads((folder / "model.json").read_text())
    names = ("model.keras", "encoder.json")
    described["sha256"] = {name: sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / "model.json").write_text(json.dumps(described | changes))


def reconfigured(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the configuration inside a saved model, and every digest with it."""
    path = folder / "model.keras"
    with ZipFile(BytesIO(path.read_bytes())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    change(config)
    path.write_bytes(packed({**members, "config.json": json.dumps(config).encode()}))
    describe(folder)


def layer(config: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in config["config"]["layers"] if each["class_name"] == kind)
    return found


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"\x80\x04.", packed({"config.json": b"{"}), packed({"config.json": b"{}"})]
)
def test_a_changed_file_is_refused_before_and_after_its_digest(saved: Path, data: bytes) -> None:
    (saved / "model.keras").write_bytes(data)
    with pytest.raises(DataError, match=r"model\.keras: not what model\.json describes"):
        load(saved)
    describe(saved)
    with pytest.raises(DataError, match=r"model\.keras: not a model of"):
        load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda config: layer(config, "Dense").update(class_name="Lambda"),
        lambda config: layer(config, "Dense").update(module="keras.utils", class_name="get_file"),
        lambda config: layer(config, "Dense").update(module="os", class_name="system"),
        lambda config: layer(config, "Dense").update(module=None, class_name="system", registered_name="system"),
        lambda config: layer(config, "Dense").update(module="mine", class_name="Registered", registered_name="mine>x"),
        lambda config: layer(config, "Dense").update(registered_name="mine>Registered"),
        lambda config: layer(config, "Dense")["config"].update(
            activation={"module": "builtins", "class_name": "function", "config": "eval", "registered_name": "function"}
        ),
        lambda config: layer(config, "Dense")["config"].update(
            kernel_initializer={"class_name": "__lambda__", "config": {"value": "x"}}
        ),
        lambda config: config.update(module="keras.layers", class_name="TorchModuleWrapper"),
    ],
)
def test_code_in_a_file_is_never_reached(saved: Path, change: Callable[[dict[str, Any]], None]) -> None:
    reconfigured(saved, change)
    with pytest.raises(DataError, match=r"model\.keras: names \d kinds? of layer that this project doesn't load"):
        load(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"facts": {}},
        {"facts": {"options": {}, "seed": 0, "outputs": "words", "classes": 3}},
        {"facts": {"options": {"epochs": 0}, "seed": 0, "outputs": "logits", "classes": 3}},
    ],
)
def test_a_description_of_no_model_is_refused(saved: Path, changes: dict[str, Any]) -> None:
    describe(saved, **changes)
    with pytest.raises(DataError, match="does not say what the model is made of"):
        load(saved)


def test_a_file_holds_no_time_and_nothing_of_training() -> None:
    model = own()
    model.compile("adam", "sparse_categorical_crossentropy")
    with quiet():
        model.fit(np.zeros((4, FEATURES)), np.zeros(4), verbose=0)
        data = keras_files.written(model)
    with ZipFile(BytesIO(data)) as archive:
        assert archive.namelist() == ["config.json", "metadata.json", "model.weights.h5"]
        assert not json.loads(archive.read("config.json"))["compile_config"]
        assert json.loads(archive.read("metadata.json"))["date_saved"] == "1980-01-01@00:00:00"
        assert b"optimizer" not in archive.read("model.weights.h5")


def test_figures_are_measured_as_for_any_model(patients: Patients) -> None:
    train = patients()
    figures = utility(build(QUICK.model_copy(update={"epochs": 3}), train.schema, 0).fit(train), train)
    assert [figure.metric for figure in figures] == ["accuracy", "balanced_accuracy", "f1", "auc"]
    assert all(figure.value is not None for figure in figures)
