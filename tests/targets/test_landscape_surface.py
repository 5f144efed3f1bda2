"""The truth of a surface is what was declared or drawn."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from arbor.events.types import CategoryShare
from arbor.targets.landscape_config import LandscapeConfig, random_landscape
from arbor.targets.landscape_optimum import best_config
from arbor.targets.landscape_samples import RandomShape, random_surface
from arbor.targets.landscape_surface import Crash, Interaction, Number, Surface, Switch
from tests.fakes.small_surface import declared, ratio


def test_a_gain_is_bound_by_its_share() -> None:
    assert ratio() == pytest.approx(1.0)
    assert ratio(a__fast=True) == pytest.approx(1 / (0.4 + 0.6 / math.e))


def test_order_matters_through_locks() -> None:
    assert ratio(a__locked=True) == pytest.approx(math.exp(-0.1))
    assert ratio(a__opener=True) == pytest.approx(1.0)
    assert ratio(a__opener=True, a__locked=True) == pytest.approx(math.exp(0.5))


def test_pairs_interact() -> None:
    both = ratio(a__opener=True, a__locked=True, a__fast=True)
    assert both == pytest.approx(ratio(a__fast=True) * math.exp(0.5 - 0.2))


def test_a_number_has_an_optimum() -> None:
    ratios = {size: ratio(b__size=size) for size in (1, 4, 8, 16, 32, 64)}
    assert ratios[4] == pytest.approx(1.0)
    assert max(ratios, key=ratios.__getitem__) == 16
    assert ratios[16] == pytest.approx(math.exp(0.2 * math.log(4) ** 2))
    assert ratios[8] == pytest.approx(ratios[32])


def test_shares_shift_to_what_is_left() -> None:
    surface = declared().resolved_surface()
    shares = surface.shares(surface.baseline() | {"a.fast": True})
    assert shares["attention"] == pytest.approx(0.4 / (0.4 + 0.6 / math.e))
    assert math.fsum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"interactions": [{"first": "x", "second": "fast", "log_gain": 1}]},
        {"switches": [{"name": "a", "key": "a.b"}, {"name": "a", "key": "a.c"}]},
        {"switches": [{"name": "a", "key": "a.b"}, {"name": "b", "key": "a.b"}]},
        {"switches": [{"name": "a", "key": "a.b", "category": "x"}]},
        {"crashes": [{"above": {"x": 1}}]},
        {"categories": [{"category": "x", "share_ratio": 0.5}]},
    ],
)
def test_surfaces_that_do_not_fit_together_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Surface.model_validate(wrong)


def test_random_surfaces_have_a_realistic_shape() -> None:
    switches = [
        switch
        for seed in range(20)
        for switch in random_surface(RandomShape(seed=seed, num_switches=24)).switches
    ]
    gains = [switch.log_gain for switch in switches]
    assert 0.2 < sum(abs(gain) <= 0.01 for gain in gains) / len(gains) < 0.45
    assert 0.04 < sum(gain < -0.01 for gain in gains) / len(gains) < 0.25
    assert 0.05 < sum(bool(switch.unlocked_by) for switch in switches) / len(switches) < 0.3
    assert random_landscape(3, 24) == random_landscape(3, 24) != random_landscape(4, 24)
    drawn = LandscapeConfig.model_validate({"surface": {"seed": 3, "num_switches": 24}})
    assert drawn.resolved_surface() == random_landscape(3, 24).surface


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(4, 8))
def test_the_best_configuration_is_the_best_of_all(seed: int, num_switches: int) -> None:
    shape = RandomShape(seed=seed, num_switches=num_switches, num_numbers=0)
    surface = random_surface(shape)
    choices = [[(s.key, s.baseline), (s.key, s.value)] for s in surface.switches]
    every = [dict(chosen) for chosen in itertools.product(*choices)]
    allowed = [c for c in every if surface.crash(c) is None and surface.kl(c) <= 0.01]
    best = max(surface.true_ratio(config) for config in allowed)
    found = best_config(surface, max_kl=0.01)
    assert surface.crash(found) is None
    assert surface.kl(found) <= 0.01
    # climbing over pairs may miss a combination of three
    assert surface.true_ratio(found) >= 0.98 * best


def test_a_surface_can_be_built_in_code() -> None:
    surface = Surface(
        categories=(CategoryShare(category="x", share_ratio=1.0),),
        switches=(Switch(name="a", key="s.a", log_gain=0.1), Switch(name="b", key="s.b")),
        numbers=(Number(name="n", key="s.n", low=1, high=9, baseline=1, optimum=3),),
        interactions=(Interaction(first="a", second="b", log_gain=0.1),),
        crashes=(Crash(all_of=("a",), none_of=("b",)),),
    )
    assert best_config(surface) == {"s.a": True, "s.b": True, "s.n": 3}
