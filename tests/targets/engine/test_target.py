"""The engine keeps the contract of a target, and nothing hangs or fails without being told."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbor.events.errors import InvalidInputError
from arbor.events.types import Edit, Layer
from arbor.targets.base import ArmPlan, ServerFailedError, TurnsTarget
from arbor.targets.child import ChildProcess, clean_environment, free_port
from arbor.targets.engine.model_cache import import_root
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.server.settings import switches
from arbor.targets.engine.target import EngineTarget, EngineTargetConfig
from tests.contracts.target import HARDWARE, Bench, TargetContract, counters_of
from tests.fakes.ports import ListedPorts

SMALL = {
    "synthetic": {
        "seed": 3,
        "vocab_size": 512,
        "width": 64,
        "num_layers": 2,
        "ffn_width": 96,
        "max_positions": 256,
    },
    "concurrency": 4,
    "num_requests": 8,
    "length_scale": 0.1,
    "check": {"num_sequences": 8, "num_tokens": 40, "num_decode": 8, "batch": 4},
}


def small(cache: Path, **options: object) -> EngineTargetConfig:
    return EngineTargetConfig.model_validate({**SMALL, "cache": cache, **options})


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


class TestEngineTarget(TargetContract):
    """The contract, on a tiny model."""

    num_requests = 8
    counted_action = "vectorised_sampler"
    configured_action = "max_num_seqs"
    # native operators cannot read the cache of joined tensors
    crash = (Edit(key="kernel.operators", value="cpp"),)

    @pytest.fixture(scope="class")
    @classmethod
    def target(cls, cache: Path) -> EngineTarget:
        return EngineTarget(small(cache))

    def test_a_window_tells_what_it_cost(self, bench: Bench, server: EngineServer) -> None:
        window = bench.target.benchmark(server, 9, 16)
        assert window.server_cpu_s is not None
        assert window.server_cpu_s > 0
        assert window.client_cpu_s is not None
        assert window.foreign_cpu_ratio is not None
        assert 0 <= window.foreign_cpu_ratio <= 1
        assert window.ttft_ms_p50 is not None
        assert counters_of(window)["num_steps"] > 0

    def test_both_sides_of_a_window_agree(self, bench: Bench, server: EngineServer) -> None:
        window = bench.target.benchmark(server, 9, 16)
        assert window.num_planned_requests == window.num_completed == window.num_served_requests
        assert window.num_planned_input_tokens == window.num_input_tokens
        assert window.num_planned_output_tokens == window.num_output_tokens
        assert window.num_served_output_tokens == window.num_chunks == window.num_output_tokens
        assert window.num_concurrent_planned == window.num_concurrent_max == 4
        assert (window.num_rejected, window.num_empty, window.num_preemptions) == (0, 0, 0)
        assert (window.num_compilations, window.debug_switches) == (0, ())
        assert window.is_code_cached is None
        # eleven of sixteen prompts begin alike, and the baseline has no prefix cache
        assert window.num_shared_input_tokens == pytest.approx(10 * 64, abs=8)
        assert window.num_reused_input_tokens == 0
        peaks = {peak.key: peak.value for peak in window.peaks}
        assert peaks["application.max_num_seqs"] == 4
        assert peaks["application.kv_capacity_tokens"] > 100
        assert peaks["application.max_num_batched_tokens"] > 64

    def test_latencies_of_a_window_add_up(self, bench: Bench, server: EngineServer) -> None:
        window = bench.target.benchmark(server, 9, 16)
        for name in ("ttft", "tpot", "itl"):
            p50, p95, p99 = (getattr(window, f"{name}_ms_{q}") for q in ("p50", "p95", "p99"))
            assert 0 < p50 <= p95 <= p99
        assert window.ttft_ms_mean is not None
        assert window.tpot_ms_mean is not None
        num_more = window.num_output_tokens / window.num_completed - 1
        total_ms = window.ttft_ms_mean + num_more * window.tpot_ms_mean
        assert window.e2e_ms_mean is not None
        assert window.e2e_ms_mean == pytest.approx(total_ms)
        assert window.server_e2e_ms_mean is not None
        assert window.e2e_ms_mean is not None
        assert window.e2e_ms_mean * 16 / 1e3 <= 4 * window.duration_s
        assert window.first_tenth_ratio is not None

    def test_two_servers_take_turns(self, bench: Bench, server: EngineServer) -> None:
        target = bench.target
        assert isinstance(target, TurnsTarget)
        alone = target.benchmark(server, 9, 16)
        worktree = bench.workspace.checkout(bench.root, bench.path / "trees" / "twin")
        with target.serve(worktree, bench.path / "logs" / "twin.log") as twin:
            assert isinstance(twin, EngineServer)
            arms = ArmPlan(server, (9, 10), 0.004), ArmPlan(twin, (9,), 0.002)
            own, other = (played.result() for played in target.benchmark_in_turns(arms, 16))
            assert [window.seed for window in (*own, *other)] == [9, 10, 9]
            for window in (own[0], other[0]):
                assert window.output_digest == alone.output_digest
                assert window.num_output_tokens == alone.num_output_tokens
                assert 0.0 < window.stopped_ratio < 1.0
                assert window.energy_j is None
                assert window.e2e_ms_mean is not None
                assert window.e2e_ms_mean * 16 / 1e3 <= 4 * window.duration_s
            # both run again, and nobody is stopped
            assert target.benchmark(server, 9, 16).stopped_ratio == 0.0
            os.kill(twin.child.pid, signal.SIGKILL)
            own_played, twins = target.benchmark_in_turns(arms, 16)
            assert len(own_played.result()) == 2
            assert isinstance(twins.exception(), ServerFailedError)

    @pytest.fixture(scope="class")
    @classmethod
    def changed(
        cls, bench: Bench, server: EngineServer, cache: Path
    ) -> Iterator[tuple[EngineTarget, EngineServer]]:
        """Int8 weights and prefix reuse, started after meeting a port that was taken."""
        ports = ListedPorts([server.port, free_port()])
        target = EngineTarget(small(cache), ports.choose)
        actions = bench.actions()
        edits = (*actions["int8_weights"].edits, *actions["prefix_reuse"].edits)
        commit = bench.workspace.commit_edits(bench.root, edits, "Int8 and prefixes")
        worktree = bench.workspace.checkout(commit, bench.path / "trees" / commit)
        with target.serve(worktree, bench.path / "logs" / "changed.log") as running:
            assert ports.left == []
            yield target, running

    def test_windows_start_from_an_empty_prefix_cache(
        self, changed: tuple[EngineTarget, EngineServer]
    ) -> None:
        target, server = changed
        first, second = (counters_of(target.benchmark(server, 9, 8)) for _ in range(2))
        assert first["prefix_cache.hit_tokens"] == second["prefix_cache.hit_tokens"] > 0

    def test_int8_weights_are_near_the_baseline(
        self, server: EngineServer, changed: tuple[EngineTarget, EngineServer]
    ) -> None:
        target, quantised = changed
        sample = target.accuracy(quantised, target.reference(server))
        assert 1e-6 < sample.kl_mean < sample.kl_mean_high < 0.1
        assert sample.max_logprob_delta > 0

    def test_a_reference_of_other_prompts_is_refused(
        self, bench: Bench, server: EngineServer, cache: Path
    ) -> None:
        check = {"num_sequences": 3, "num_tokens": 40, "num_decode": 8, "batch": 4}
        other = EngineTarget(small(cache, check=check)).reference(server)
        with pytest.raises(InvalidInputError, match="other prompts"):
            bench.target.accuracy(server, other)

    def test_the_health_of_a_stranger_is_not_ours(
        self, server: EngineServer, tmp_path: Path
    ) -> None:
        sleeper = ChildProcess(["sleep", "600"], clean_environment({}), tmp_path, tmp_path / "log")
        with sleeper as child:
            assert server.is_ready()
            assert not EngineServer(child, server.host, server.port, 1.0).is_ready()
            assert not EngineServer(child, server.host, free_port(), 1.0).is_ready()


@pytest.fixture
def impatient(cache: Path, tmp_path: Path) -> Iterator[tuple[EngineTarget, EngineServer]]:
    target = EngineTarget(small(cache, request_limit_s=0.5))
    bench = Bench(target, tmp_path)
    worktree = bench.workspace.checkout(bench.root, tmp_path / "tree")
    with target.serve(worktree, tmp_path / "log") as server:
        yield target, server


def hang(server: EngineServer) -> None:
    with server.time_limit("benchmark", 0.05):
        # what hangs comes back when the server is gone
        while server.child.poll() is None:
            pass


def test_a_hang_is_an_outcome(impatient: tuple[EngineTarget, EngineServer]) -> None:
    target, server = impatient
    os.kill(server.child.pid, signal.SIGSTOP)
    with pytest.raises(ServerFailedError, match=r"/reset was not answered within 0\.5 s"):
        target.benchmark(server, 1, 4)
    with pytest.raises(ServerFailedError, match="did not end within") as caught:
        hang(server)
    assert caught.value.phase == "benchmark"
    with pytest.raises(ServerFailedError) as caught:
        target.warmup(server, 1)
    assert caught.value.signal == signal.SIGKILL


def test_a_server_sees_the_package_and_nothing_beside_it(tmp_path: Path) -> None:
    root = import_root(tmp_path)
    assert import_root(tmp_path) == root
    assert [entry.name for entry in root.iterdir()] == ["arbor"]
    assert (root / "arbor" / "events" / "types.py").exists()


def test_a_model_that_is_not_there_is_told(tmp_path: Path) -> None:
    target = EngineTarget(EngineTargetConfig(model=tmp_path / "nothing"))
    with pytest.raises(InvalidInputError, match="nothing"):
        target.create_workspace(tmp_path)


def test_the_catalog_asks_for_what_the_engine_admits(cache: Path) -> None:
    known = {f"{switch.section}.{switch.name}": switch for switch in switches()}
    actions = EngineTarget(small(cache)).actions(HARDWARE)
    assert len(actions) >= 18
    layers = set(Layer) - {Layer.COMMUNICATION}
    assert {action.layer for action in actions} == layers
    for action in actions:
        for edit in action.edits:
            assert known[edit.key].admits(edit.value)
        for requirement in action.requires:
            assert all(known[requirement.key].admits(value) for value in requirement.any_of)
        for parameter in action.space:
            assert known[parameter.key].admits(int(parameter.low or 0))
            assert known[parameter.key].admits(int(parameter.high or 0))
    threads = next(action for action in actions if action.template_id == "threads")
    assert threads.space[0].high == HARDWARE.num_cores
    single = HARDWARE.model_copy(update={"num_cores": 1})
    names = {action.template_id for action in EngineTarget(small(cache)).actions(single)}
    assert "threads" not in names
