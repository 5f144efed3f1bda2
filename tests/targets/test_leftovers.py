"""Only servers of this campaign that no guard watches are leftovers."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from arbor.targets.child import ChildProcess, clean_environment
from arbor.targets.leftovers import MARK, end_leftovers, leftovers
from tests.fakes.processes import all_gone, wait_until

LIMIT_S = 30.0
SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


def _sleeper(log: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(SLEEPER, env=os.environ | {MARK: str(log)})


def test_an_orphan_of_this_campaign_is_ended_and_no_other(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    mine, foreign = _sleeper(own / "logs" / "a.log"), _sleeper(other / "logs" / "a.log")
    try:
        wait_until(lambda: [p.pid for p in leftovers(own)] == [mine.pid], LIMIT_S)
        assert end_leftovers(own) == [mine.pid]
        assert all_gone([mine.pid])
        assert foreign.poll() is None
        assert end_leftovers(own) == []
    finally:
        for each in (mine, foreign):
            each.kill()
            each.wait()


def test_a_guarded_server_is_no_leftover_until_its_guard_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "s.log"
    child = ChildProcess(SLEEPER, clean_environment({}), tmp_path, log)
    with child as server:
        server.wait_ready(lambda: "up" in server.log_tail(), LIMIT_S)
        pid = server.pid
        assert leftovers(tmp_path) == []
        os.kill(server._guard_pid, signal.SIGKILL)
        wait_until(lambda: all_gone([server._guard_pid]), LIMIT_S)
        if not all_gone([pid]):
            wait_until(lambda: [p.pid for p in leftovers(tmp_path)] == [pid], LIMIT_S)
            assert end_leftovers(tmp_path) == [pid]
    assert all_gone([pid])
