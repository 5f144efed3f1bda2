"""Forked servers are like new ones, and nothing that was forked outlives its worker."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from arbor.events.types import Edit
from arbor.targets.engine.prepared import PreparedProcess
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.target import EngineTarget, EngineTargetConfig
from tests.contracts.target import Bench
from tests.fakes.processes import all_gone, wait_until

LIMIT_S = 60.0
FORKED = "forked from a prepared process"


def target_of(model: Path, path: Path) -> EngineTarget:
    return EngineTarget(
        EngineTargetConfig(
            model=model, cache=path / "cache", concurrency=4, num_requests=4, length_scale=0.1
        )
    )


@pytest.fixture
def bench(tiny_model: Path, tmp_path: Path) -> Iterator[Bench]:
    target = target_of(tiny_model, tmp_path)
    yield Bench(target, tmp_path)
    target.close()


def quickly(bench: Bench, log: str, *edits: Edit) -> "Running":
    commit = bench.workspace.commit_edits(bench.root, edits, "Try") if edits else bench.root
    worktree = bench.workspace.checkout(commit, bench.path / "trees" / commit)
    return Running(bench, worktree, bench.path / "logs" / log)


class Running:
    """A server that was asked for quickly, until the end of a with statement."""

    def __init__(self, bench: Bench, worktree: Path, log: Path) -> None:
        assert isinstance(bench.target, EngineTarget)
        self._context = bench.target.serve_quickly(worktree, log)
        self._log = log

    def __enter__(self) -> tuple[EngineServer, bool]:
        server = self._context.__enter__()
        return server, self._log.read_text().startswith(FORKED)

    def __exit__(self, *error: object) -> None:
        self._context.__exit__(None, None, None)


def test_a_forked_server_is_like_a_new_one(bench: Bench) -> None:
    with bench.serve() as fresh:
        expected = bench.target.benchmark(fresh, 3, 4)
        config = fresh.resolved_config()
    with quickly(bench, "a") as (first, is_first_forked):
        with quickly(bench, "b") as (second, is_second_forked):
            assert is_first_forked
            assert is_second_forked
            assert first.child.pid != second.child.pid
            for server in (first, second):
                assert server.resolved_config() == config
                sample = bench.target.benchmark(server, 3, 4)
                assert sample.output_digest == expected.output_digest
                assert sample.server_cpu_s
                assert server.child.pids() == [server.child.pid]
            pid = second.child.pid
        assert second.child.poll() == (0, None)
        assert all_gone([pid])
        # the end of one is not the end of the other
        assert first.is_ready()


def test_another_environment_is_served_by_a_new_program(bench: Bench) -> None:
    edit = Edit(key="dispatch.malloc", value="huge_pages")
    with quickly(bench, "plain") as (plain, _), quickly(bench, "other", edit) as (other, _):
        tails = [server.child.log_tail() for server in (plain, other)]
        assert tails[0] == (FORKED,)
        assert tails[1][1].startswith("starting again with GLIBC_TUNABLES=")
        command = psutil.Process(other.child.pid).cmdline()
        assert command[1:3] == ["-m", "arbor.targets.engine.server"]
        assert other.is_ready()


def test_a_crash_of_a_forked_server_is_told_with_its_log(bench: Bench) -> None:
    with quickly(bench, "a") as (server, _), quickly(bench, "b") as (other, _):
        os.kill(server.child.pid, signal.SIGKILL)
        wait_until(lambda: server.child.poll() is not None, LIMIT_S)
        assert server.child.poll() == (None, signal.SIGKILL)
        assert server.child.log_tail()[0] == FORKED
        assert other.is_ready()


def test_servers_end_with_the_prepared_process_and_another_one_follows(bench: Bench) -> None:
    with quickly(bench, "a") as (server, _):
        guard = psutil.Process(server.child.pid).parent()
        assert guard is not None
        prepared = guard.ppid()
        os.kill(prepared, signal.SIGKILL)
        wait_until(lambda: all_gone([prepared, guard.pid, server.child.pid]), LIMIT_S)
        wait_until(lambda: server.child.poll() is not None, LIMIT_S)
        with quickly(bench, "b") as (other, is_forked):
            assert is_forked
            assert other.is_ready()


def test_what_cannot_be_prepared_is_not_tried_again(tmp_path: Path) -> None:
    # without the package there is no module to run
    prepared = PreparedProcess({"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)})
    assert not prepared.is_ready()
    assert not prepared.is_ready()
    prepared.close()


WORKER = """
import sys, time
from pathlib import Path
from arbor.targets.engine.target import EngineTarget, EngineTargetConfig
model, path = map(Path, sys.argv[1:])
target = EngineTarget(EngineTargetConfig(model=model, cache=path / "cache"))
worktree = path / "tree"
worktree.mkdir()
target.create_workspace(worktree)
with target.serve_quickly(worktree, path / "log") as server:
    print(*server.child.pids(), flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("is_group", [False, True])
def test_a_kill_of_the_worker_leaves_no_orphan(
    tiny_model: Path, tmp_path: Path, *, is_group: bool
) -> None:
    command = [sys.executable, "-c", WORKER, str(tiny_model), str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, start_new_session=True, cwd=Path.cwd()
    ) as worker:
        assert worker.stdout is not None
        (pid,) = (int(word) for word in worker.stdout.readline().split())
        assert (tmp_path / "log").read_text().startswith(FORKED)
        chain = [pid, *(parent.pid for parent in psutil.Process(pid).parents()[:3])]
        assert worker.pid not in chain
        assert os.getpgid(pid) == os.getpgid(worker.pid)
        if is_group:
            os.killpg(worker.pid, signal.SIGKILL)
        else:
            worker.kill()
        wait_until(lambda: all_gone(chain), LIMIT_S)
