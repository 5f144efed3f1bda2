"""Servers in turns: one works while the other stands still, and so does its clock."""

import threading
import time
from pathlib import Path

import psutil
import pytest

from arbor.targets.child import ChildProcess
from arbor.targets.turns import ActiveClock, Turn, take_turns, wall
from tests.targets.test_child import LIMIT_S, child

RUNNING = {psutil.STATUS_RUNNING, psutil.STATUS_SLEEPING}
BUSY = "print('up', flush=True)\nwhile True: pass"


def test_the_wall_counts_every_second() -> None:
    assert wall(12.5) == 12.5


def test_a_clock_stands_still_between_turns() -> None:
    clock = ActiveClock()
    assert clock(5.0) == 0.0
    for begin, end in ((10.0, 12.0), (20.0, 21.0)):
        clock.begin(begin)
        clock.end(end)
    clock.begin(30.0)
    when = (9.0, 10.0, 11.5, 12.0, 15.0, 20.0, 20.25, 25.0, 30.0, 34.0)
    assert [clock(w) for w in when] == [0.0, 0.0, 1.5, 2.0, 2.0, 2.0, 2.25, 3.0, 3.0, 7.0]


def started(server: ChildProcess) -> ChildProcess:
    server.wait_ready(lambda: "up" in server.log_tail(), LIMIT_S)
    return server


def end_after(turn: Turn, active_s: float, watched: list[set[str]], servers: list[int]) -> None:
    """Set a turn done after some active seconds; note who runs meanwhile."""
    while turn.clock(time.perf_counter()) < active_s:
        time.sleep(0.005)
        watched.append({psutil.Process(pid).status() for pid in servers})
    turn.is_done.set()


def test_one_stands_while_the_other_works_and_both_run_afterwards(tmp_path: Path) -> None:
    with child(tmp_path / "a", BUSY) as one, child(tmp_path / "b", BUSY) as other:
        turns = Turn(started(one), 0.02), Turn(started(other), 0.04)
        pids = [one.pid, other.pid]
        before = [one.cpu_seconds(), other.cpu_seconds()]
        watched: list[set[str]] = []
        enders = [
            threading.Thread(target=end_after, args=(turn, 0.4, watched, pids)) for turn in turns
        ]
        for ender in enders:
            ender.start()
        take_turns(*turns)
        for ender in enders:
            ender.join()
        used = [one.cpu_seconds() - before[0], other.cpu_seconds() - before[1]]
        assert any(psutil.STATUS_STOPPED in statuses for statuses in watched)
        assert {psutil.Process(pid).status() for pid in pids} <= RUNNING
    for turn, cpu_s in zip(turns, used, strict=True):
        active_s = turn.clock(float("inf"))
        # processor time is counted in ticks of a hundredth of a second
        assert 0.0 < cpu_s <= active_s + 0.05
        assert active_s == pytest.approx(turn.clock(turn.clock._ends[-1]))


def test_what_a_server_started_stands_with_it(tmp_path: Path) -> None:
    busy = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'while True: pass'])\n"
    with child(tmp_path / "a", busy + BUSY) as one, child(tmp_path / "b", BUSY) as other:
        turns = Turn(started(one), 0.02), Turn(started(other), 0.02)
        one.wait_ready(lambda: len(one.pids()) == 2, LIMIT_S)
        pids = one.pids()
        watched: list[set[str]] = []
        ender = threading.Thread(target=end_after, args=(turns[0], 0.3, watched, pids))
        ender.start()
        threading.Timer(0.3, turns[1].is_done.set).start()
        take_turns(*turns)
        ender.join()
        assert {psutil.STATUS_STOPPED} in watched
        assert {psutil.Process(pid).status() for pid in pids} <= RUNNING


def test_the_dead_take_no_turns(tmp_path: Path) -> None:
    with child(tmp_path / "a", "pass") as dead, child(tmp_path / "b", BUSY) as other:
        assert dead.wait(LIMIT_S) is not None
        turns = Turn(dead, 0.01), Turn(started(other), 0.01)
        turns[0].is_done.set()
        threading.Timer(0.1, turns[1].is_done.set).start()
        take_turns(*turns)
        assert turns[0].clock(1e9) == 0.0
        assert len(turns[1].clock._begins) == 1
        assert other.poll() is None
