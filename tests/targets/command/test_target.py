"""The command target keeps the contract of a target."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from arbor.events.types import Edit, Load
from arbor.targets.base import Server, ServerFailedError
from arbor.targets.child import free_port
from arbor.targets.command.process import CommandServer
from arbor.targets.command.target import CommandTarget
from tests.contracts.target import Bench, TargetContract, counters_of
from tests.fakes.ports import ListedPorts
from tests.targets.command.small import FAKES, SMALL, small, small_target


class TestCommandTarget(TargetContract):
    """The contract, over the fake server."""

    num_requests = 8
    counted_action = "turbo"
    configured_action = "threads"
    crash = (Edit(key="knobs.fault", value="exit"),)

    @pytest.fixture(scope="class")
    @classmethod
    def target(cls) -> CommandTarget:
        return small_target()

    def test_a_window_has_both_sides(self, bench: Bench, server: Server) -> None:
        window = bench.target.benchmark(server, 9, 12)
        assert window.num_planned_requests == window.num_completed == 12
        assert window.num_output_tokens == window.num_planned_output_tokens == 72
        assert window.num_concurrent_max == 4
        assert counters_of(window)["fake_tokens_total"] == 72
        assert window.server_cpu_s is not None
        assert window.ttft_ms_p50 is not None
        assert window.tpot_ms_p50 is not None

    def test_the_profile_is_of_the_new_trace(self, bench: Bench, server: Server) -> None:
        for seed in (3, 4):
            profile = bench.target.profile(server, seed)
            assert profile.share_of("gemm") == pytest.approx(0.7)
            assert profile.num_ranks == 1


def test_a_taken_port_is_left_for_another(tmp_path: Path) -> None:
    bench = Bench(small_target(), tmp_path)
    with bench.serve() as first:
        assert isinstance(first, CommandServer)
        other = free_port()
        ports = ListedPorts([first.port, other])
        second = Bench(CommandTarget(small(), ports.choose), tmp_path / "second")
        with second.serve() as server:
            assert isinstance(server, CommandServer)
            assert server.port == other
        first.resolved_config()


def test_files_and_the_log_as_witness(tmp_path: Path) -> None:
    launch = {
        "command": [
            sys.executable,
            str(FAKES / "model_server.py"),
            *("--port", "${port}", "--config", "${scratch}/own.json"),
        ],
        "files": {"own.json": '{"threads": ${threads}, "turbo": ${turbo}}'},
        "limit_s": 60,
    }
    report = {"log": {"threads": r"regex:threads = (\d+)", "turbo": r"regex:turbo = (\w+)"}}
    target = small_target(launch=launch, report=report, profile={"kind": "none"}, actions=[])
    bench = Bench(target, tmp_path)
    edits = [Edit(key="knobs.threads", value=3), Edit(key="knobs.turbo", value=True)]
    with bench.serve(edits) as server:
        config = server.resolved_config()
        assert (config["knobs.threads"], config["knobs.turbo"]) == (3, True)
        profile = target.profile(server, 1)
        assert [(s.category, s.share_ratio) for s in profile.shares] == [("all", 1.0)]


def test_a_knob_that_is_not_reported_proves_nothing(tmp_path: Path) -> None:
    report = {"path": "/props", "values": {"bits": "settings.0.bits"}}
    with Bench(small_target(report=report), tmp_path).serve() as server:
        config = server.resolved_config()
        assert "knobs.bits" not in config
        assert config["knobs.threads"] == 1


def test_chats_and_token_ids_and_workloads(tmp_path: Path) -> None:
    chat = {
        **SMALL["benchmark"],
        "path": "/v1/chat/completions",
        "workloads": {"long": {"output_ratio": 2.0}},
    }
    target = small_target(benchmark=chat)
    assert list(target.workloads()) == ["long"]
    with Bench(target, tmp_path / "chat").serve() as server:
        assert target.benchmark(server, 1, 4).num_output_tokens == 24
        assert target.benchmark(server, 1, 4, Load(workload="long")).num_output_tokens == 48
    ids = {**SMALL["benchmark"], "num_token_ids": 100, "length_spread": 0.5}
    target = small_target(benchmark=ids)
    with Bench(target, tmp_path / "ids").serve() as server:
        window = target.benchmark(server, 1, 8)
        assert window.num_input_tokens == window.num_planned_input_tokens
        assert window.num_output_tokens == window.num_planned_output_tokens


@pytest.fixture(scope="module")
def command_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bench, Server]]:
    bench = Bench(small_target(), tmp_path_factory.mktemp("bench"))
    with bench.serve() as server:
        yield bench, server


RESULTS = {
    "num_failed": "failed",
    "num_completed": "completed",
    "num_output_tokens": "tokens.output",
    "num_input_tokens": "tokens.input",
    "duration_s": "duration",
    "latencies": {"ttft_ms_p50": "ttft"},
}


def load(mode: str, results: Mapping[str, object], limit_s: float = 60) -> dict[str, object]:
    return {
        "kind": "command",
        "command": [
            sys.executable,
            str(FAKES / "command_benchmark.py"),
            *("${port}", "${seed}", "${num_requests}", mode),
        ],
        "results": results,
        "limit_s": limit_s,
    }


def test_a_benchmark_of_ones_own(command_bench: tuple[Bench, Server]) -> None:
    _, server = command_bench
    window = small_target(benchmark=load("json", RESULTS)).benchmark(server, 1, 5)
    assert (window.num_completed, window.num_failed, window.num_output_tokens) == (5, 0, 30)
    assert window.num_input_tokens == 5
    assert window.throughput_tok_s == pytest.approx(30 / window.duration_s)
    assert window.ttft_ms_p50 == 1.5
    assert counters_of(window)["fake_tokens_total"] == 30


def test_a_benchmark_that_prints_text(command_bench: tuple[Bench, Server]) -> None:
    _, server = command_bench
    results = {
        "num_failed": r"regex:^Failed requests: (\d+)",
        "num_completed": r"regex:^Successful requests: ([\d,]+)",
        "tokens_per_request": 6,
    }
    window = small_target(benchmark=load("text", results)).benchmark(server, 1, 5)
    assert (window.num_completed, window.num_output_tokens) == (5, 30)
    assert window.duration_s > 0


@pytest.mark.parametrize(
    ("mode", "limit_s", "message"),
    [
        ("crash", 60, "the benchmark ended with exit code 1"),
        ("sleep", 1, "the benchmark did not end within 1 s"),
        ("silent", 60, "the benchmark printed no figures"),
    ],
)
def test_a_benchmark_that_fails_is_an_outcome(
    command_bench: tuple[Bench, Server], mode: str, limit_s: float, message: str
) -> None:
    _, server = command_bench
    target = small_target(benchmark=load(mode, RESULTS, limit_s))
    with pytest.raises(ServerFailedError, match=message) as caught:
        target.benchmark(server, 1, 5)
    assert caught.value.phase == "benchmark"
    assert caught.value.exit_code is None
    # the server is not to blame, and lives
    server.resolved_config()
