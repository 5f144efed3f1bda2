"""The landscape keeps the contract of a target, with noise, crashes and time as declared."""

import math
import statistics
from pathlib import Path

import pytest

from arbor.core.accuracy import Gate, violations
from arbor.events.settings import GateSettings
from arbor.targets.base import ServerFailedError
from arbor.targets.landscape import LandscapeTarget
from arbor.targets.landscape_config import LandscapeConfig, Noise
from tests.contracts.target import HARDWARE, Bench, TargetContract, counters_of
from tests.fakes.small_surface import declared, edits, ratio


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
    assert violations(sample, Gate(GateSettings(), claims_exact=False)) == ()
    assert violations(sample, Gate(GateSettings(), claims_exact=True))[0].startswith(
        "67.03% of the greedy tokens"
    )
    assert [bench.actions()[name].is_exact for name in ("fast", "lossy", "liar")] == [
        True,
        False,
        True,
    ]


def test_crashes_happen_in_their_phase(bench: Bench) -> None:
    with bench.serve(edits(a__fast=True, b__lossy="int8")) as server:
        bench.target.profile(server, 1)
        with pytest.raises(ServerFailedError, match="lossy is not supported") as caught:
            bench.target.benchmark(server, 1, 4)
        assert (caught.value.exit_code, caught.value.signal) == (1, None)
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
            for action in LandscapeTarget(declared(prior_quality=quality)).actions(HARDWARE)
        }
        for quality in (1.0, 0.0)
    )
    assert exact["fast"] == pytest.approx(math.e)
    assert exact["size"] == pytest.approx(math.exp(0.2 * math.log(4) ** 2))
    assert vague["fast"] != pytest.approx(math.e, rel=0.1)
