"""Servers die with whoever started them, say how they ended, and cannot fill the disk."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from arbor.events.errors import InvalidInputError
from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess, clean_environment, free_port
from tests.fakes.processes import all_gone, wait_until

LIMIT_S = 30.0
SLEEPER = "import time; print('up', flush=True); time.sleep(600)"
# a grandchild in a session of its own, deaf to SIGTERM like its parent
STUBBORN = f"""
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", {SLEEPER!r}], start_new_session=True)
time.sleep(600)
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def child(path: Path, code: str, *, grace_s: float = 5.0, limit: int = 1 << 20) -> ChildProcess:
    return ChildProcess(
        python(code),
        clean_environment({}),
        path,
        path / "log",
        grace_s=grace_s,
        log_limit_bytes=limit,
    )


def test_a_server_runs_is_measured_and_ends(tmp_path: Path) -> None:
    before = set(Path("/proc/self/fd").iterdir())
    with child(tmp_path, "print('up', flush=True)\nwhile True: pass") as server:
        server.wait_ready(lambda: "up" in server.log_tail(), LIMIT_S)
        assert server.poll() is None
        assert server.pids() == [server.pid]
        server.wait_ready(lambda: server.cpu_seconds() > 0.05, LIMIT_S)
        server.check("benchmark")
    assert server.poll() == (None, signal.SIGTERM)
    assert server.pids() == []
    server.terminate()
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_time_of_ended_descendants_counts(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    code = (
        f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', {burn!r}]); "
        "print('up', flush=True); time.sleep(600)"
    )
    with child(tmp_path, code) as server:
        server.wait_ready(lambda: "up" in server.log_tail(), LIMIT_S)
        assert server.pids() == [server.pid]
        assert server.cpu_seconds() >= 0.3


@pytest.mark.parametrize(
    ("code", "exit_code", "number", "said"),
    [
        ("print('no memory'); raise SystemExit(3)", 3, None, "no memory"),
        ("import os; os.kill(os.getpid(), 11)", None, 11, None),
        ("raise RuntimeError('unsupported')", 1, None, "RuntimeError: unsupported"),
        ("pass", 0, None, None),
    ],
)
def test_a_death_before_readiness_is_told(
    tmp_path: Path, code: str, exit_code: int | None, number: int | None, said: str | None
) -> None:
    with child(tmp_path, code) as server, pytest.raises(ServerFailedError) as caught:
        server.wait_ready(lambda: False, LIMIT_S)
    assert caught.value.phase == "start"
    assert (caught.value.exit_code, caught.value.signal) == (exit_code, number)
    assert caught.value.log_tail[-1:] == (() if said is None else (said,))
    with pytest.raises(ServerFailedError, match="benchmark"):
        server.check("benchmark")


def test_the_log_tail_is_forty_lines_of_this_start(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("of an earlier start\n")
    with child(tmp_path, "[print(i) for i in range(100)]; raise SystemExit(1)") as server:
        with pytest.raises(ServerFailedError) as caught:
            server.wait_ready(lambda: False, LIMIT_S)
        assert caught.value.log_tail == tuple(map(str, range(60, 100)))
        assert len(server.log_tail(1000)) == 100


def test_a_server_that_is_never_ready_is_told(tmp_path: Path) -> None:
    with child(tmp_path, SLEEPER) as server:
        with pytest.raises(ServerFailedError, match=r"not ready within 0\.1 s") as caught:
            server.wait_ready(lambda: False, 0.1)
        pids = server.pids()
    assert (caught.value.exit_code, caught.value.signal) == (None, None)
    assert all_gone(pids)


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    missing = ChildProcess(["/no/such/program"], {}, tmp_path, tmp_path / "log")
    with missing, pytest.raises(ServerFailedError) as caught:
        missing.wait_ready(lambda: False, LIMIT_S)
    assert caught.value.exit_code == 127
    assert caught.value.log_tail == ("cannot run /no/such/program: No such file or directory",)
    nowhere = ChildProcess(python(SLEEPER), {}, tmp_path / "gone", tmp_path / "log")
    with pytest.raises(ServerFailedError, match="guard did not start"):
        nowhere.start()


def test_the_whole_tree_ends_even_if_deaf(tmp_path: Path) -> None:
    with child(tmp_path, STUBBORN, grace_s=0.2) as server:
        server.wait_ready(lambda: "up" in server.log_tail(), LIMIT_S)
        pids = server.pids()
        assert len(pids) == 2
    assert all_gone(pids)
    assert server.poll() == (None, signal.SIGKILL)


def test_descendants_end_with_the_server(tmp_path: Path) -> None:
    code = f"{STUBBORN.replace('time.sleep(600)', 'input_ = sys.stdin.read()')}\ntime.sleep(0.5)"
    with child(tmp_path, code, grace_s=0.2) as server:
        pids = server.pids()
        wait_until(lambda: server.poll() is not None, LIMIT_S)
        wait_until(lambda: all_gone(pids), LIMIT_S)
        wait_until(lambda: server.pids() == [], LIMIT_S)


PARENT = """
import os, sys, time
from pathlib import Path
from arbor.targets.child import ChildProcess, clean_environment
path = Path(sys.argv[1])
server = ChildProcess([sys.executable, "-c", sys.argv[2]], clean_environment({}), path,
                      path / "log", grace_s=0.2)
server.start()
server.wait_ready(lambda: "up" in server.log_tail(), 30)
# a fork that shares all descriptors must not keep the server alive
if os.fork() == 0:
    time.sleep(600)
print(*server.pids(), flush=True)
time.sleep(600)
"""


def test_a_kill_of_the_parent_leaves_no_orphan(tmp_path: Path) -> None:
    command = [*python(PARENT), str(tmp_path), STUBBORN]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        fork = [process.pid for process in psutil.Process(parent.pid).children()]
        guard = psutil.Process(pids[0]).ppid()
        assert len(pids) == 2
        assert guard not in {parent.pid, 0, 1}
        assert os.getpgid(guard) == os.getpgid(parent.pid)
        parent.send_signal(signal.SIGKILL)
        try:
            wait_until(lambda: all_gone([*pids, guard]), LIMIT_S)
        finally:
            for pid in fork:
                os.kill(pid, signal.SIGKILL)


def test_a_kill_of_the_process_group_takes_all(tmp_path: Path) -> None:
    # so a raylet ends what a dead worker left
    twins = STUBBORN.replace(", start_new_session=True", "")
    command = [*python(PARENT), str(tmp_path), twins]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        pids.append(psutil.Process(pids[0]).ppid())
        os.killpg(parent.pid, signal.SIGKILL)
        wait_until(lambda: all_gone(pids), LIMIT_S)


def test_a_kill_of_the_guard_takes_the_server_along(tmp_path: Path) -> None:
    with child(tmp_path, SLEEPER) as server:
        server.wait_ready(lambda: "up" in server.log_tail(), LIMIT_S)
        pid = server.pid
        os.kill(psutil.Process(pid).ppid(), signal.SIGKILL)
        wait_until(lambda: all_gone([pid]), LIMIT_S)
        wait_until(lambda: server.poll() is not None, LIMIT_S)
        with pytest.raises(ServerFailedError, match="together with its guard"):
            server.check("benchmark")


def test_a_flood_stays_within_the_limit(tmp_path: Path) -> None:
    limit = 256 * 1024
    code = "import sys\nfor i in range(200_000): print(f'{i:020d}')\nprint('end')"
    with child(tmp_path, code, limit=limit) as server:
        wait_until(lambda: server.poll() is not None, LIMIT_S)
        assert server.poll() == (0, None)
        assert server.log_tail()[-2:] == (f"{199_999:020d}", "end")
    sizes = [file.stat().st_size for file in tmp_path.glob("log*")]
    assert len(sizes) == 2
    assert sum(sizes) <= limit


def test_output_of_closed_streams_is_no_loop(tmp_path: Path) -> None:
    code = "import os, time; print('up', flush=True); os.close(1); os.close(2); time.sleep(600)"
    with child(tmp_path, code) as server:
        server.wait_ready(lambda: "up" in server.log_tail(), LIMIT_S)
        assert server.poll() is None
    assert server.poll() == (None, signal.SIGTERM)


def test_the_environment_is_short_and_holds_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "OMP_NUM_THREADS", "PYTHONPATH"):
        monkeypatch.setenv(name, "inherited")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    environment = clean_environment({"OMP_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "0"})
    code = "import os; print(*os.environ); print(os.environ['OMP_NUM_THREADS'])"
    with ChildProcess(python(code), environment, tmp_path, tmp_path / "log") as server:
        wait_until(lambda: server.poll() is not None, LIMIT_S)
        names, threads = server.log_tail()
    assert threads == "2"
    assert {"PATH", "CUDA_VISIBLE_DEVICES", "TOKENIZERS_PARALLELISM"} <= set(names.split())
    assert not {"OPENAI_API_KEY", "HF_TOKEN", "PYTHONPATH"} & set(names.split())


@pytest.mark.parametrize("name", ["HF_TOKEN", "OPENAI_API_KEY", "db_password", "MY_SECRET_X"])
def test_secrets_cannot_be_passed(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} looks like a secret"):
        clean_environment({name: "x"})


def test_a_free_port_can_be_bound() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", free_port()))
