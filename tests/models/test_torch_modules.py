"""The network that ships, and those that are registered."""

from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import torch
from torch import nn

from components.models import torch_modules
from components.models.declarations import Mlp
from components.models.torch_modules import ACTIVATIONS, MLP, Architecture, parameter_faults, registered, registration
from schemas.faults import ConfigurationError


class Ours(nn.Module):
    """Takes its sizes only."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.only = nn.Linear(inputs, outputs)


class Theirs(Ours):
    """The same under another name."""


class Open(nn.Module):
    """Takes whatever comes."""

    def __init__(self, *sizes: int, depth: int, **others: Any) -> None:
        super().__init__()
        self.given = (sizes, depth, others)


def test_the_network_is_as_wide_as_asked() -> None:
    shapes = [tuple(weight.shape) for weight in MLP(5, 3, hidden=[4, 2]).parameters()]
    assert shapes == [(4, 5), (4,), (2, 4), (2,), (3, 2), (3,)]
    assert [tuple(weight.shape) for weight in MLP(5, 1, hidden=[]).parameters()] == [(1, 5), (1,)]


def test_its_output_by_hand() -> None:
    network = MLP(2, 1, hidden=[2], activation="relu", dropout=0.5).eval()
    for weight in network.parameters():
        nn.init.ones_(weight)
    assert network(torch.tensor([[1.0, 2.0], [-3.0, 1.0]])).tolist() == [[9.0], [1.0]]  # 2 * max(x + y + 1, 0) + 1


def test_every_activation_that_is_declared_is_there() -> None:
    assert set(get_args(Mlp.model_fields["activation"].annotation)) == ACTIVATIONS.keys()
    for name in ACTIVATIONS:
        assert MLP(2, 1, activation=name)(torch.zeros(1, 2)).shape == (1, 1)


def test_parameters_are_those_beside_the_sizes() -> None:
    assert parameter_faults(Architecture("ours", Ours)) == []
    assert [fault.place for fault in parameter_faults(Architecture("ours", Ours, {"inputs": 3}))] == [
        "model.params.inputs"
    ]
    assert parameter_faults(Architecture("open", Open, {"depth": 1, "else": 2})) == []
    assert list(map(str, parameter_faults(Architecture("open", Open, {"else": 2})))) == [
        "model.params.depth: open needs it; set it"
    ]


def test_what_is_made_must_be_a_module() -> None:
    made = Architecture("open", Open, {"depth": 1, "else": 2}).made(4, 2)
    assert made.given == ((4, 2), 1, {"else": 2})
    with pytest.raises(ConfigurationError, match="list makes no"):
        Architecture("list", lambda inputs, outputs: [inputs, outputs]).made(1, 1)  # type: ignore[arg-type,return-value]


def test_the_name_of_ours_is_not_given_away_and_the_first_of_two_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint(name, f"{__name__}:{where}", torch_modules.GROUP)
        for name, where in (("mlp", "Theirs"), ("ours", "Theirs"), ("ours", "Ours"))
    ]
    for point, distribution in zip(points, ("b", "b", "a"), strict=True):
        vars(point).update(dist=SimpleNamespace(name=distribution, version="1"))
    monkeypatch.setattr(torch_modules, "entry_points", lambda group: points if group == torch_modules.GROUP else [])
    assert registered("mlp", {}).maker is MLP
    assert registration(MLP) == ("mlp", "privacy-runner")
    assert registered("ours", {}).maker is Ours
    assert registration(Ours) == ("ours", "a 1")
    assert registration(Open) == ("Open", None)
