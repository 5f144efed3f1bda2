"""Whatever goes wrong with a server is an outcome with its evidence, and leaves nothing behind."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from arbor.core.rca import diagnose
from arbor.events.outcome import Crashed
from arbor.events.types import Edit
from arbor.targets.base import ServerFailedError
from arbor.targets.child import free_port
from arbor.targets.vllm.devices import Devices
from arbor.targets.vllm.server import VllmServer
from arbor.targets.vllm.target import VllmTarget
from tests.contracts.target import Bench
from tests.fakes.device_file import DeviceFile
from tests.fakes.fake_vllm.device import HELD_BYTES
from tests.fakes.ports import ListedPorts
from tests.fakes.processes import all_gone, wait_until
from tests.targets.vllm.conftest import MakeConfig, MakeTarget

ENGINE = re.compile(r"engine core is process (\d+)")


def engines(log: Path) -> list[int]:
    """Return the grandchildren that a server named."""
    texts = [path.read_text(errors="replace") for path in log.parent.glob(f"{log.name}*")]
    return [int(pid) for text in texts for pid in ENGINE.findall(text)]


def crashed(error: ServerFailedError) -> Crashed:
    """Return the event of an error."""
    return Crashed(
        attempt_id="a",
        phase=error.phase,
        message=error.message,
        exit_code=error.exit_code,
        signal=error.signal,
        log_tail=error.log_tail,
        node_id="n",
    )


class Ward:
    """Servers of a target with faults."""

    def __init__(self, target: VllmTarget, folder: Path) -> None:
        self.target = target
        self.bench = Bench(target, folder)
        self.log = folder / "logs" / "server.log"

    @contextmanager
    def serve(self, *edits: Edit) -> Iterator[VllmServer]:
        """Start the baseline with edits; afterwards no process may be left."""
        try:
            with self.bench.serve(edits) as server:
                assert isinstance(server, VllmServer)
                yield server
        finally:
            pids = engines(self.log)
            wait_until(lambda: all_gone(pids), 30.0)

    def failure(self, *edits: Edit) -> ServerFailedError:
        """Return why it does not start."""
        with pytest.raises(ServerFailedError) as caught, self.serve(*edits):
            pytest.fail("it started")
        return caught.value


@pytest.fixture
def ward(make_config: MakeConfig, tmp_path: Path) -> Any:
    """Make a ward whose servers have faults."""

    def make(fault: str = "", target_options: Any = None, **options: Any) -> Ward:
        config = make_config(env={"FAKE_VLLM": fault}, **options)
        return Ward(VllmTarget(config, **(target_options or {})), tmp_path)

    return make


def test_a_model_that_is_missing(ward: Any, tmp_path: Path) -> None:
    error = ward().failure(Edit(key="args.model", value=str(tmp_path / "gone")))
    assert (error.phase, error.exit_code) == ("start", 1)
    assert "does not appear to have a file named config.json" in error.log_tail[-1]


def test_an_option_that_this_release_does_not_have(ward: Any) -> None:
    error = ward().failure(Edit(key="args.swap-space", value=4))
    assert error.message == (
        "unrecognized argument --swap-space: vLLM 0.32.0+fake has no such option"
    )
    assert error.log_tail == (f"not started: {error.message}",)
    assert diagnose(crashed(error)).cause == "bad_setting"


def test_an_option_that_another_release_had(make_target: MakeTarget, tmp_path: Path) -> None:
    older = make_target(env={"FAKE_VLLM_MISSING": "stream-interval,performance-mode"})
    names = {action.template_id for action in Bench(older, tmp_path).actions().values()}
    assert "max_num_seqs" in names
    assert not {"stream_interval", "performance_mode"} & names


def test_a_server_that_dies_at_its_start(ward: Any) -> None:
    error = ward("die_at_start").failure()
    assert error.exit_code == 1
    assert diagnose(crashed(error)).cause == "out_of_memory"


@pytest.mark.parametrize("fault", ["never_healthy", "hang_at_start"])
def test_a_server_that_never_becomes_healthy(ward: Any, fault: str) -> None:
    error = ward(fault, start_limit_s=4.0).failure()
    assert error.message == "the server was not ready within 4 s"
    assert error.log_tail
    assert diagnose(crashed(error)).cause == "timeout"


def test_a_server_that_dies_in_the_middle(ward: Any) -> None:
    sick = ward("die_after:6")
    with sick.serve() as server:
        with pytest.raises(ServerFailedError) as caught:
            sick.target.benchmark(server, 1, 16)
        assert caught.value.phase == "benchmark"
        assert caught.value.signal == 9
        assert "EngineDeadError" in "\n".join(caught.value.log_tail)


def test_a_server_that_hangs(ward: Any) -> None:
    sick = ward("hang_after:4", load_limit_s=1.5, request_limit_s=1.5)
    with sick.serve() as server, pytest.raises(ServerFailedError, match=r"within 1\.5 s"):
        sick.target.benchmark(server, 1, 16)


def test_a_server_that_hangs_in_the_accuracy_check(ward: Any) -> None:
    sick = ward("hang_after:2", request_limit_s=1.5)
    with sick.serve() as server, pytest.raises(ServerFailedError) as caught:
        sick.target.reference(server)
    assert (caught.value.phase, "not answered" in caught.value.message) == ("accuracy", True)


def test_a_flood_of_log(ward: Any) -> None:
    limit_bytes = 2**18
    sick = ward("flood", log_limit_bytes=limit_bytes)
    with sick.serve() as server:
        assert sick.target.benchmark(server, 1, 4).num_failed == 0
        assert server.resolved_config()["args.max-num-seqs"] == 8
    files = list(sick.log.parent.glob("server.log*"))
    assert sum(path.stat().st_size for path in files) <= limit_bytes


def test_garbage_instead_of_answers(ward: Any) -> None:
    sick = ward("garbage")
    with sick.serve() as server:
        with pytest.raises(ServerFailedError, match="4 of 4 requests failed"):
            sick.target.benchmark(server, 1, 4)
        with pytest.raises(ServerFailedError, match="/v1/completions failed"):
            sick.target.reference(server)


def test_answers_without_a_token(ward: Any) -> None:
    sick = ward("empty")
    with sick.serve() as server:
        assert sick.target.benchmark(server, 1, 4).num_empty == 4


@pytest.mark.parametrize("client", ["builtin", "bench"])
def test_failed_requests_are_counted(ward: Any, client: str) -> None:
    sick = ward("fail_every:3", client=client)
    with sick.serve() as server:
        window = sick.target.benchmark(server, 1, 9)
    assert (window.num_completed, window.num_failed) == (6, 3)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("bench_fails", "vllm bench serve ended with exit code 1: ValueError: the benchmark"),
        ("bench_garbage", "vllm bench serve: the result is no JSON"),
        ("fail_every:1", "4 of 4 requests failed: HTTP 500"),
    ],
)
def test_a_benchmark_program_that_fails(ward: Any, fault: str, message: str) -> None:
    sick = ward(fault, client="bench")
    with sick.serve() as server, pytest.raises(ServerFailedError, match=message) as caught:
        sick.target.benchmark(server, 1, 4)
    assert caught.value.phase == "benchmark"


def test_a_profile_without_a_trace(ward: Any) -> None:
    sick = ward("no_trace")
    with sick.serve() as server, pytest.raises(ServerFailedError, match="trace") as caught:
        sick.target.profile(server, 1)
    assert caught.value.phase == "profile"


def test_a_port_that_was_taken_meanwhile(ward: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        ports = ListedPorts([stranger.getsockname()[1], free_port()])
        sick = ward(target_options={"choose_port": ports.choose})
        with sick.serve() as server:
            assert ports.left == []
            assert server.is_ready()


def test_a_port_that_stays_taken(ward: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        error = ward(target_options={"choose_port": ListedPorts([port] * 3).choose}).failure()
    assert diagnose(crashed(error)).cause == "port_busy"


def test_the_health_of_a_stranger_is_not_ours(ward: Any, make_config: MakeConfig) -> None:
    healthy = ward()
    with healthy.serve() as server:
        ports = ListedPorts([server.port, free_port()])
        other = Ward(VllmTarget(make_config(), ports.choose), healthy.log.parents[1] / "other")
        with other.serve() as second:
            assert second.port != server.port


def test_a_device_that_others_use(ward: Any, tmp_path: Path) -> None:
    device = DeviceFile(tmp_path / "device", 5 * 2**30)
    devices = Devices(frozenset({0}), device)
    error = ward(target_options={"devices": devices}, memory_limit_s=0.1).failure()
    assert "device is busy: others hold memory before the start (device 0: 5.0 GiB" in (
        error.message
    )
    assert diagnose(crashed(error)).cause == "device_busy"


def test_a_device_of_our_own_servers(make_config: MakeConfig, tmp_path: Path) -> None:
    device = DeviceFile(tmp_path / "device")
    config = make_config(env={"FAKE_VLLM_DEVICE": str(device.path)}, memory_limit_s=0.1)
    target = VllmTarget(config, devices=Devices(frozenset({0}), device))
    bench = Bench(target, tmp_path / "bench")
    with bench.serve((), "one.log"), bench.serve((), "two.log") as server:
        assert int(device.path.read_text()) == 2 * HELD_BYTES
        window = target.benchmark(server, 1, 4)
    assert window.num_completed == 4
    assert int(device.path.read_text()) == 0


def test_memory_that_is_not_given_back(make_config: MakeConfig, tmp_path: Path) -> None:
    device = DeviceFile(tmp_path / "device")
    env = {"FAKE_VLLM_DEVICE": str(device.path), "FAKE_VLLM": "keep_memory"}
    config = make_config(env=env, memory_limit_s=0.1)
    sick = Ward(VllmTarget(config, devices=Devices(frozenset({0}), device)), tmp_path / "w")
    with sick.serve():
        pass
    assert "device 0: 8.0 GiB" in sick.failure().message


def test_secrets_do_not_reach_the_evidence(
    ward: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_API_KEY", "an-unremarkable-value")
    path = str(tmp_path / "an-unremarkable-value")
    error = ward().failure(Edit(key="args.model", value=path))
    assert "an-unremarkable-value" not in "\n".join(error.log_tail)
