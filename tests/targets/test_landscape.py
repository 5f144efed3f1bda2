"""The landscape keeps the contract of a target, and its truth is what was declared."""

import itertools
import math
import statistics
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from arbor.events.types import CategoryShare, Edit
from arbor.targets.base import ServerFailedError
from arbor.targets.landscape import LandscapeTarget
from arbor.targets.landscape_config import LandscapeConfig, Noise, random_landscape
from arbor.targets.landscape_optimum import best_config
from arbor.targets.landscape_samples import RandomShape, random_surface
from arbor.targets.landscape_surface import (
    Crash,
    Interaction,
    Number,
    Surface,
    Switch,
)
from tests.contracts.target import HARDWARE, Bench, TargetContract, counters_of

SURFACE = """
categories:
  - {category: attention, share_ratio: 0.4}
  - {category: sampler, share_ratio: 0.6}
switches:
  - {name: fast, key: a.fast, category: sampler, log_gain: 1.0}
  - {name: opener, key: a.opener}
  - {name: locked, key: a.locked, log_gain: 0.5, locked_log_gain: -0.1, unlocked_by: [opener]}
  - {name: needy, key: a.needy, log_gain: 0.1, needs: [opener]}
  - {name: dead, key: a.dead, value: 2, baseline: 1, log_gain: 5.0, is_dead: true}
  - {name: lossy, key: b.lossy, value: int8, baseline: float32, kl: 0.0016}
  - {name: liar, key: b.liar, kl: 0.5, claims_exact: true}
numbers:
  - {name: size, key: b.size, low: 1, high: 64, baseline: 4, optimum: 16, curvature: 0.2}
interactions:
  - {first: fast, second: locked, log_gain: -0.2}
crashes:
  - {all_of: [fast, lossy], phase: benchmark, message: out of memory, exit_code: null, signal: 9}
  - {all_of: [liar], none_of: [fast], phase: accuracy, log: [assertion failed]}
  - {above: {size: 32}, phase: profile}
"""


def declared(**options: object) -> LandscapeConfig:
    text = {"surface": yaml.safe_load(SURFACE), "time_scale": 0.0, **options}
    return LandscapeConfig.model_validate(text)


def edits(**values: bool | float | str) -> tuple[Edit, ...]:
    return tuple(Edit(key=key.replace("__", "."), value=value) for key, value in values.items())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(LandscapeTarget(declared()), tmp_path)


class TestLandscape(TargetContract):
    """The contract, on the default surface."""

    num_requests = 12
    counted_action = "vectorised"
    configured_action = "max_active"
    crash = edits(weights__int8=True, weights__int4=True)

    @pytest.fixture(scope="class")
    @classmethod
    def target(cls) -> LandscapeTarget:
        return LandscapeTarget(LandscapeConfig())


def ratio(**values: bool | float | str) -> float:
    config = declared()
    baseline = config.resolved_surface().baseline()
    return config.true_ratio(baseline | {edit.key: edit.value for edit in edits(**values)})


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


def test_a_dead_switch_leaves_no_trace(bench: Bench) -> None:
    action = bench.actions()["dead"]
    assert ratio(a__dead=2) == pytest.approx(1.0)
    with bench.serve(action.edits) as server:
        assert server.resolved_config()["a.dead"] == 1
        assert action.witness.key not in counters_of(bench.target.benchmark(server, 1, 4))


def test_lossy_switches_cost_accuracy(bench: Bench) -> None:
    with bench.serve() as server:
        reference = bench.target.reference(server)
        digest = bench.target.benchmark(server, 1, 4).output_digest
    with bench.serve(edits(b__lossy="int8")) as server:
        sample = bench.target.accuracy(server, reference)
        assert bench.target.benchmark(server, 1, 4).output_digest != digest
    assert sample.kl_mean == pytest.approx(0.0016)
    assert sample.kl_mean_high > sample.kl_mean
    assert sample.top1_agreement_ratio < 1.0
    assert [bench.actions()[name].is_exact for name in ("fast", "lossy", "liar")] == [
        True,
        False,
        True,
    ]


def test_crashes_happen_in_their_phase(bench: Bench) -> None:
    with bench.serve(edits(a__fast=True, b__lossy="int8")) as server:
        bench.target.profile(server, 1)
        with pytest.raises(ServerFailedError, match="out of memory") as caught:
            bench.target.benchmark(server, 1, 4)
        assert (caught.value.exit_code, caught.value.signal) == (None, 9)
        with pytest.raises(ServerFailedError, match="has ended"):
            server.resolved_config()
    with (
        bench.serve(edits(b__liar=True)) as server,
        pytest.raises(ServerFailedError, match="accuracy") as caught,
    ):
        bench.target.reference(server)
    assert caught.value.log_tail[-1] == "assertion failed"
    with (
        bench.serve(edits(b__size=33)) as server,
        pytest.raises(ServerFailedError, match="profile"),
    ):
        bench.target.profile(server, 1)


@pytest.mark.parametrize(
    ("values", "said"),
    [({"a__needy": True}, "needs opener"), ({"b__size": "many"}, "a number above 0")],
)
def test_a_bad_configuration_ends_the_start(
    bench: Bench, values: dict[str, bool | str], said: str
) -> None:
    with pytest.raises(ServerFailedError, match=said), bench.serve(edits(**values)):
        pytest.fail("it started")


def log_throughputs(bench: Bench, num_starts: int, num_windows: int) -> list[list[float]]:
    starts = []
    for _ in range(num_starts):
        with bench.serve() as server:
            windows = [bench.target.benchmark(server, i, 15) for i in range(num_windows)]
        starts.append([math.log(w.throughput_tok_s / 400.0) for w in windows])
    return starts


def test_noise_is_as_declared(tmp_path: Path) -> None:
    noise = Noise(window_sd=0.02, start_sd=0.1)
    bench = Bench(LandscapeTarget(declared(noise=noise.model_dump())), tmp_path)
    starts = log_throughputs(bench, 30, 30)
    within = statistics.mean(statistics.stdev(start) for start in starts)
    between = statistics.stdev(statistics.mean(start) for start in starts)
    assert within == pytest.approx(0.02, rel=0.1)
    assert between == pytest.approx(0.1, rel=0.4)
    # two starts of the same configuration are not the same noise
    assert len({start[0] for start in starts}) == 30


def test_runs_repeat_exactly(tmp_path: Path) -> None:
    runs = []
    for folder in ("first", "second"):
        bench = Bench(LandscapeTarget(declared()), tmp_path / folder)
        runs.append(log_throughputs(bench, 2, 3))
    assert runs[0] == runs[1]


def test_outliers_are_seen_in_the_foreign_share(tmp_path: Path) -> None:
    noise = {"window_sd": 0.0, "outlier_ratio": 0.3}
    bench = Bench(LandscapeTarget(declared(noise=noise)), tmp_path)
    with bench.serve() as server:
        windows = [bench.target.benchmark(server, i, 15) for i in range(60)]
    slow = [w for w in windows if w.foreign_cpu_ratio]
    assert 8 <= len(slow) <= 28
    assert all(w.throughput_tok_s == pytest.approx(400.0 * math.exp(-0.4)) for w in slow)
    assert all(w.throughput_tok_s == pytest.approx(400.0) for w in windows if w not in slow)


class VirtualClock:
    """Adds up what it is asked to sleep."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s


def test_time_passes_by_its_scale(tmp_path: Path) -> None:
    clock = VirtualClock()
    config = declared(time_scale=0.5, start_s=3.0, window_s=2.0)
    bench = Bench(LandscapeTarget(config, clock.sleep), tmp_path)
    with bench.serve() as server:
        assert clock.now_s == pytest.approx(1.5)
        window = bench.target.benchmark(server, 1, bench.target.default_num_requests())
    assert window.duration_s == pytest.approx(2.0, rel=0.1)
    assert clock.now_s == pytest.approx(1.5 + window.duration_s / 2)


def test_drift_swings_all_servers(tmp_path: Path) -> None:
    noise = {"window_sd": 0.0, "drift": 0.2, "drift_period_s": 40.0}
    bench = Bench(LandscapeTarget(declared(noise=noise)), tmp_path)
    with bench.serve() as server:
        windows = [bench.target.benchmark(server, i, 15).throughput_tok_s for i in range(40)]
    assert max(windows) == pytest.approx(400.0 * math.exp(0.2), rel=0.02)
    assert min(windows) == pytest.approx(400.0 * math.exp(-0.2), rel=0.02)


def test_priors_may_be_right_or_wrong() -> None:
    exact, vague = (
        {
            action.template_id: action.prior_speedup_ratio
            for action in LandscapeTarget(declared(prior_quality=quality)).actions(
                HARDWARE
            )
        }
        for quality in (1.0, 0.0)
    )
    assert exact["fast"] == pytest.approx(math.e)
    assert exact["size"] == pytest.approx(math.exp(0.2 * math.log(4) ** 2))
    assert vague["fast"] != pytest.approx(math.e, rel=0.1)


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
