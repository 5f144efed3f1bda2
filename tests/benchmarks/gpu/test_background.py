"""A program in the background is seen while it runs and when it has ended."""

import os
import signal
import time
from pathlib import Path

from benchmarks.gpu.background import begin, is_running, pid_of


def test_what_runs_in_the_background_is_seen_to_end(tmp_path: Path) -> None:
    code = "import os, time; print(os.environ['GREETING'], flush=True); time.sleep(60)"
    begin(tmp_path, "sleeper", ["-c", code], tmp_path, {**os.environ, "GREETING": "hello"})
    assert is_running(tmp_path, "sleeper")
    pid = pid_of(tmp_path, "sleeper")
    assert pid is not None
    assert os.getpgid(pid) == pid
    os.kill(pid, signal.SIGKILL)
    for _ in range(200):
        if not is_running(tmp_path, "sleeper"):
            break
        time.sleep(0.05)
    assert not is_running(tmp_path, "sleeper")


def test_what_was_never_begun_does_not_run(tmp_path: Path) -> None:
    assert pid_of(tmp_path, "nothing") is None
    assert not is_running(tmp_path, "nothing")
