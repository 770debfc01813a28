"""Training: batches, early stopping and its end."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from components.models.declarations import TorchTraining
from components.models.torch_training import (
    Rows,
    class_loss,
    contained,
    evaluated,
    precision,
    put_through,
    square_loss,
    train,
)
from schemas.faults import ConfigurationError

CPU = torch.device("cpu")


def line(rows: int = 200) -> Rows:
    features = torch.linspace(0, 1, rows)[torch.randperm(rows, generator=torch.Generator().manual_seed(0))][:, None]
    return Rows(features, 2 * features[:, 0] - 1)


def straight() -> nn.Module:
    with contained(0, CPU):
        return nn.Linear(1, 1)


def test_a_line_is_found() -> None:
    module = straight()
    train(module, line(), square_loss, TorchTraining(learning_rate=0.05), seed=0)
    assert module.weight.item() == pytest.approx(2, abs=0.02)
    assert module.bias.item() == pytest.approx(-1, abs=0.02)


class Wanders(nn.Module):
    """Holds a number that each training pass raises by one; its loss is least at `best`."""

    def __init__(self, best: int) -> None:
        super().__init__()
        self.best = best
        self.weight = nn.Parameter(torch.zeros(1))
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return how far the passes are from the best number of them."""
        if self.training:
            self.passes += 1
        return features[:, 0] * 0 + (self.passes - self.best) + 0 * self.weight


@pytest.mark.parametrize(("best", "patience", "ran"), [(3, 2, 5), (3, 4, 7), (1, 1, 2)])
def test_the_best_weights_are_restored_after_patience_epochs(best: int, patience: int, ran: int) -> None:
    module, passed = Wanders(best), []
    module.register_forward_pre_hook(lambda module, _: passed.append(1) if module.training else None)
    rows = Rows(torch.zeros(20, 1), torch.zeros(20))
    notes = train(module, rows, square_loss, TorchTraining(batch_size=100, patience=patience), seed=0)
    assert module.passes.item() == best
    assert len(passed) == ran  # one batch an epoch
    assert notes == []
    assert not module.training


def test_a_loss_that_stays_is_no_fall() -> None:
    module, passed = Wanders(0), []
    module.register_forward_pre_hook(lambda module, _: passed.append(1) if module.training else None)
    rows = Rows(torch.zeros(20, 1), torch.zeros(20))
    train(module, rows, lambda found, _: found.mean() * 0, TorchTraining(batch_size=100, patience=3), seed=0)
    assert len(passed) == 4
    assert module.passes.item() == 1


def test_the_seed_decides_the_batches() -> None:
    found = []
    for seed in (1, 1, 2):
        module = straight()
        train(module, line(), square_loss, TorchTraining(epochs=2, batch_size=16), seed)
        found.append(module.weight.item())
    assert found[0] == found[1] != found[2]


def test_of_a_single_epoch_it_is_not_known_whether_the_loss_still_falls() -> None:
    assert train(straight(), line(), square_loss, TorchTraining(epochs=1), seed=0) == []


def test_a_loss_that_still_falls_is_noted() -> None:
    rows = Rows(torch.zeros(20, 1), torch.zeros(20))
    notes = train(Wanders(99), rows, square_loss, TorchTraining(epochs=4, batch_size=100), seed=0)
    assert notes == ["the loss on held-out rows was still falling after 4 epochs; raise model.epochs"]


def test_with_nothing_held_out_every_epoch_is_run() -> None:
    module = Wanders(1)
    rows = Rows(torch.zeros(20, 1), torch.zeros(20))
    assert train(module, rows, square_loss, TorchTraining(epochs=6, batch_size=100, validation=0.0), seed=0) == []
    assert module.passes.item() == 6


@given(rows=st.integers(2, 60), size=st.integers(1, 30), share=st.sampled_from([0.0, 0.1, 0.5]))
@settings(deadline=None, max_examples=40)
def test_an_epoch_sees_every_row_once_in_batches_of_near_equal_size(rows: int, size: int, share: float) -> None:
    seen: list[torch.Tensor] = []
    module = nn.Linear(1, 1)
    module.register_forward_pre_hook(lambda module, given: seen.append(given[0]) if module.training else None)
    features = torch.arange(rows, dtype=torch.float32)[:, None] / rows
    options = TorchTraining(epochs=1, batch_size=size, validation=share)
    train(module, Rows(features, features[:, 0]), square_loss, options, seed=0)
    held = min(round(rows * share), rows - 1)
    sizes = [len(batch) for batch in seen]
    assert torch.equal(torch.cat(seen).sort(dim=0).values, features[: rows - held])
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1


def test_a_loss_that_is_no_number_is_told() -> None:
    with pytest.raises(
        ConfigurationError, match=r"model\.learning_rate: the loss is no finite number after \d+ epochs"
    ):
        train(straight(), line(), square_loss, TorchTraining(optimizer="sgd", learning_rate=1e30), seed=0)


@pytest.mark.parametrize("held", [0.0, 0.1])
def test_a_clipped_gradient_moves_no_further_than_the_step(held: float) -> None:
    module = straight()
    before = torch.cat([weight.detach().reshape(-1).clone() for weight in module.parameters()])
    options = TorchTraining(
        epochs=1, batch_size=500, optimizer="sgd", learning_rate=1.0, clip_norm=0.01, validation=held
    )
    train(module, line(), square_loss, options, seed=0)
    after = torch.cat([weight.detach().reshape(-1) for weight in module.parameters()])
    assert (after - before).norm().item() == pytest.approx(0.01, rel=1e-3)


def test_weight_decay_shrinks() -> None:
    rows = Rows(torch.zeros(50, 1), torch.zeros(50))
    module = straight()
    before = abs(module.weight.item())
    train(module, rows, square_loss, TorchTraining(epochs=20, weight_decay=1.0, learning_rate=0.01), seed=0)
    assert abs(module.weight.item()) < before


def test_losses_by_hand() -> None:
    logits, labels = torch.tensor([[0.0, 1.0], [2.0, 0.0]]), torch.tensor([1, 0])
    each = [torch.log1p(torch.exp(torch.tensor(-1.0))), torch.log1p(torch.exp(torch.tensor(-2.0)))]
    mean = sum(each) / 2
    single = torch.tensor([[1.0], [-2.0]])  # one column is the difference of the two
    assert class_loss("logits")(logits, labels).item() == pytest.approx(mean.item())
    assert class_loss("logits")(single, labels).item() == pytest.approx(mean.item())
    assert class_loss("probabilities")(logits.softmax(1), labels).item() == pytest.approx(mean.item())
    assert class_loss("probabilities")(torch.sigmoid(single), labels).item() == pytest.approx(mean.item())
    certain = class_loss("probabilities")(torch.tensor([[1.0, 0.0]]), torch.tensor([1]))
    assert torch.isfinite(certain)
    assert square_loss(torch.tensor([[1.0], [3.0]]), torch.tensor([1.0, 1.0])).item() == 2


def test_a_mean_over_chunks_is_the_mean_over_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    module, rows = straight(), line(11)
    whole, put = evaluated(module, rows, square_loss), put_through(module, rows.features)
    monkeypatch.setattr("components.models.torch_training.CHUNK", 4)
    assert evaluated(module, rows, square_loss) == pytest.approx(whole)
    assert put_through(module, rows.features) == pytest.approx(put)


def test_the_precision_is_that_of_the_weights() -> None:
    assert precision(nn.Linear(1, 1).double()) == torch.float64
    assert precision(nn.ReLU()) == torch.float32
    doubled: Any = put_through(nn.Linear(1, 1).double(), torch.zeros(2, 1))
    assert doubled.dtype == torch.float64


def test_generators_and_threads_are_as_before_even_after_an_error() -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    first: list[torch.Tensor] = []

    def fails() -> None:
        with contained(5, CPU):
            first.append(torch.rand(3))
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    with contained(5, CPU):
        assert torch.equal(torch.rand(3), first[0])
        assert torch.get_num_threads() == 1
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
