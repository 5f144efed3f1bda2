"""Servers that do not start, die, hang, flood or talk nonsense are outcomes, and leave nothing."""

from pathlib import Path
from typing import Any

import psutil
import pytest

from arbor.events.types import Edit
from arbor.targets.base import ServerFailedError
from arbor.targets.command.process import CommandServer
from tests.contracts.target import Bench
from tests.fakes.processes import all_gone, wait_until
from tests.targets.command.small import SMALL, small_target


def fault(name: str) -> list[Edit]:
    return [Edit(key="knobs.fault", value=name)]


def started(**changes: Any) -> dict[str, Any]:
    return {"launch": SMALL["launch"] | changes}


def test_a_server_that_is_never_healthy(tmp_path: Path) -> None:
    bench = Bench(small_target(**started(limit_s=2)), tmp_path)
    with (
        pytest.raises(ServerFailedError, match="was not ready within 2 s") as caught,
        bench.serve(fault("never_ready")),
    ):
        pytest.fail("it started")
    assert caught.value.log_tail == ("threads = 1, turbo = False",)
    mine = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
    assert not [words for words in mine if "never_ready" in words]


def test_a_server_on_another_port_is_not_taken_for_ready(tmp_path: Path) -> None:
    """Its health answers on a port that another server listens on."""
    first = Bench(small_target(), tmp_path / "first")
    with first.serve() as server:
        assert isinstance(server, CommandServer)
        command = ["sh", "-c", "sleep 60; : ${port}"]
        target = small_target(launch={"command": command, "limit_s": 1})
        target._starter._choose_port = lambda _: server.port
        with (
            pytest.raises(ServerFailedError, match="was not ready within 1 s"),
            Bench(target, tmp_path / "second").serve(),
        ):
            pytest.fail("it started")


def test_a_program_that_cannot_be_run(tmp_path: Path) -> None:
    target = small_target(launch={"command": ["/no/such/program", "${port}"], "limit_s": 20})
    with (
        pytest.raises(ServerFailedError, match="ended with exit code 127"),
        Bench(target, tmp_path).serve(),
    ):
        pytest.fail("it started")


def test_a_server_that_dies_in_a_window(tmp_path: Path) -> None:
    target = small_target()
    with Bench(target, tmp_path).serve(fault("die")) as server:
        assert isinstance(server, CommandServer)
        pids = server.child.pids()
        target.benchmark(server, 1, 8)
        with pytest.raises(ServerFailedError, match="requests failed") as caught:
            target.benchmark(server, 2, 24)
        assert caught.value.exit_code == 9
    wait_until(lambda: all_gone(pids), 20.0)


def test_a_server_that_hangs_in_a_window(tmp_path: Path) -> None:
    load = SMALL["benchmark"] | {"limit_s": 2}
    target = small_target(benchmark=load)
    with (
        Bench(target, tmp_path).serve(fault("hang")) as server,
        pytest.raises(ServerFailedError, match="the load did not end within 2 s"),
    ):
        target.benchmark(server, 1, 8)


def test_a_server_that_hangs_in_the_check(tmp_path: Path) -> None:
    target = small_target(request_limit_s=1)
    with (
        Bench(target, tmp_path).serve(fault("hang")) as server,
        pytest.raises(ServerFailedError, match="was not answered within 1 s") as caught,
    ):
        target.reference(server)
    assert caught.value.phase == "accuracy"


def test_garbage_is_an_outcome(tmp_path: Path) -> None:
    target = small_target()
    with Bench(target, tmp_path).serve(fault("garbage")) as server:
        with pytest.raises(ServerFailedError, match="8 of 8 requests failed"):
            target.benchmark(server, 1, 8)
        with pytest.raises(ServerFailedError, match="/v1/completions failed"):
            target.reference(server)


def test_failed_requests_are_counted(tmp_path: Path) -> None:
    target = small_target()
    with Bench(target, tmp_path).serve(fault("fail")) as server:
        window = target.benchmark(server, 1, 10)
        assert (window.num_completed, window.num_failed) == (8, 2)


def test_a_flood_of_lines_is_cut(tmp_path: Path) -> None:
    bench = Bench(small_target(**started(log_limit_bytes=2**16)), tmp_path)
    with bench.serve(fault("flood")):
        files = [p for p in (tmp_path / "logs").iterdir() if p.name.startswith("server.log")]
        # the guard checks after each piece that it copies
        assert sum(p.stat().st_size for p in files) <= 2 * 2**16


def test_a_server_that_is_not_healthy_any_more(tmp_path: Path) -> None:
    target = small_target()
    with Bench(target, tmp_path).serve(fault("unhealthy")) as server:
        target.warmup(server, 1)
        with pytest.raises(ServerFailedError, match="not healthy any more"):
            server.resolved_config()


def test_a_foreign_configuration_is_an_outcome(tmp_path: Path) -> None:
    bench = Bench(small_target(), tmp_path)
    edits = [Edit(key="knobs.other", value=1)]
    with (
        pytest.raises(ServerFailedError, match=r"serve\.yaml has other, which is no knob"),
        bench.serve(edits),
    ):
        pytest.fail("it started")
