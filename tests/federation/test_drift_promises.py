"""Who is found and who is wrongly suspected, at a size for every day; ``make proof`` has the full one."""

from dataclasses import replace

import numpy as np
import pytest

from bench import drift
from components.federation.aggregation.declarations import Median

SEEDS = 3
SMALL = drift.Setting("network", rows=10_000, rounds=3)
ONLY_TOLD = replace(SMALL, drift=drift.Drift(action="report"))


@pytest.mark.parametrize("model", drift.HIDDEN)
@pytest.mark.parametrize("attack", drift.ATTACKS)
def test_attackers_are_excluded_at_once_where_nothing_is_clipped_or_noised(attack: str, model: str) -> None:
    assert drift.attacked(replace(SMALL, model=model, attack=attack), SEEDS) == (1, 1, 1)


@pytest.mark.parametrize("model", drift.HIDDEN)
@pytest.mark.parametrize("attack", drift.ATTACKS)
def test_attackers_are_excluded_through_the_noise_of_every_site(attack: str, model: str) -> None:
    setting = replace(SMALL, model=model, attack=attack, noise=drift.NOISE, rows=20_000)
    assert drift.attacked(setting, SEEDS)[1] == 1


@pytest.mark.parametrize("attack", drift.ATTACKS)
def test_clipped_attackers_are_excluded_or_do_no_harm(attack: str) -> None:
    _, ever, harmless = drift.attacked(replace(SMALL, attack=attack, clip=drift.CLIP), SEEDS)
    assert max(ever, harmless) == 1


@pytest.mark.parametrize("attack", drift.ATTACKS)
def test_attackers_do_the_median_no_harm_though_nobody_is_excluded(attack: str) -> None:
    assert drift.attacked(replace(ONLY_TOLD, attack=attack, rule=Median()), SEEDS) == (0, 0, 1)


def test_they_do_harm_to_the_mean_where_nobody_is_excluded() -> None:
    assert drift.attacked(replace(ONLY_TOLD, attack="sign flip"), 1) == (0, 0, 0)


@pytest.mark.parametrize("noise", [0.0, drift.NOISE])
@pytest.mark.parametrize("split", ["labels", "quantity"])
def test_honest_sites_unlike_one_another_are_seldom_excluded(split: str, noise: float) -> None:
    assert drift.falsely_excluded(replace(SMALL, split=split, noise=noise), 2 * SEEDS) < drift.FALSELY


def test_the_splits_share_out_every_row_and_are_as_unequal_as_they_say() -> None:
    for split in ("country", "labels", "quantity"):
        parts = drift.sites(2_000, split, 0)
        sizes = np.array([len(targets) for _, targets in parts])
        means = np.array([targets.mean() for _, targets in parts])
        assert sizes.sum() == 2_000
        assert (means.std() > 0.3) == (split == "labels")
        assert (sizes.max() > 3 * sizes.min()) == (split != "country")


def test_the_default_run_leaves_no_honest_hospital_out_for_its_noise() -> None:
    assert drift.spoilt(8)[0] == 0
