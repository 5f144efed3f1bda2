"""Commands in a sandbox: what they may do, and every way out that they try."""

import os
import socket
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from arbor.events.errors import InvalidInputError
from arbor.targets.sandbox.isolation import PLAIN_WARNING, isolation, warning
from arbor.targets.sandbox.order import Isolation, Limits, Network, secret_files
from arbor.targets.sandbox.sandbox import Outcome, Sandbox

needs_namespaces = pytest.mark.skipif(
    isolation() == "plain", reason="this system allows no user namespaces"
)
EITHER: tuple[Isolation, ...] = ("plain",) if isolation() == "plain" else ("plain", "namespaces")


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    (tmp_path / "worktree").mkdir()
    limits = Limits(wall_s=20.0, cpu_s=10, memory_bytes=1 << 30, disk_bytes=1 << 24)
    return Sandbox(
        tmp_path / "worktree", tmp_path / "scratch", tmp_path / "run.log", limits=limits
    )


def _python(sandbox: Sandbox, source: str, *arguments: object) -> Outcome:
    program = textwrap.dedent(source)
    return sandbox.run([sys.executable, "-c", program, *map(str, arguments)])


def test_a_command_runs_in_its_worktree_and_its_output_comes_back(sandbox: Sandbox) -> None:
    (sandbox.worktree / "given.txt").write_text("from the commit")
    outcome = _python(
        sandbox,
        """
        import os, pathlib
        print(pathlib.Path("given.txt").read_text())
        pathlib.Path("made.txt").write_text("x")
        pathlib.Path(os.environ["TMPDIR"], "made.txt").write_text("y")
        raise SystemExit(3)
        """,
    )
    assert (outcome.exit_code, outcome.signal, outcome.exceeded) == (3, None, None)
    assert outcome.output == ("from the commit",)
    assert (sandbox.worktree / "made.txt").read_text() == "x"
    assert (sandbox.scratch / "made.txt").read_text() == "y"
    sandbox.clear()
    assert not sandbox.scratch.exists()


@pytest.mark.parametrize("kind", EITHER)
def test_the_environment_is_clean_in_either_isolation(
    sandbox: Sandbox, kind: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", "planted-secret-value")
    monkeypatch.setenv("UNKNOWN_VARIABLE", "also-not-for-children")
    outcome = _python(
        replace(sandbox, isolation=kind), "import os; print(sorted(os.environ.values()))"
    )
    assert outcome.is_good
    assert "planted-secret-value" not in outcome.output[0]
    assert "also-not-for-children" not in outcome.output[0]
    assert str(sandbox.scratch) in outcome.output[0]


def test_a_secret_is_not_given_on_purpose_either(sandbox: Sandbox) -> None:
    with pytest.raises(InvalidInputError, match="MY_TOKEN looks like a secret"):
        replace(sandbox, environment={"MY_TOKEN": "x"}).run(["true"])


@needs_namespaces
def test_nothing_outside_is_written_not_even_through_a_link(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("as it was")
    (sandbox.worktree / "link").symlink_to(outside)
    (sandbox.worktree / "folder").symlink_to(tmp_path)
    outcome = _python(
        sandbox,
        """
        import pathlib, sys, os
        os.symlink(sys.argv[1], "own_link")
        for name in (sys.argv[1], "link", "own_link", "folder/new.txt", "/etc/new.txt",
                     "/proc/self/root" + sys.argv[1], "/proc/self/cwd/../outside.txt"):
            try:
                pathlib.Path(name).write_text("changed")
                print("wrote", name)
            except OSError as error:
                print(error.strerror)
        """,
        outside,
    )
    assert outcome.is_good
    assert set(outcome.output) == {"Read-only file system"}
    assert len(outcome.output) == 7
    assert outside.read_text() == "as it was"
    assert not (tmp_path / "new.txt").exists()


@needs_namespaces
def test_the_read_only_file_system_cannot_be_changed_back(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    outcome = _python(
        sandbox,
        """
        import ctypes, os, sys
        libc = ctypes.CDLL(None, use_errno=True)
        remount = 32 | 4096
        print("remount", libc.mount(None, b"/", None, ctypes.c_ulong(remount), None))
        libc.unshare(0x10000000 | 0x00020000)
        print("again", libc.mount(None, b"/", None, ctypes.c_ulong(remount), None))
        print("over", libc.umount2(os.fsencode(sys.argv[1]), 2))
        try:
            open(os.path.join(sys.argv[1], "new"), "w")
            print("wrote")
        except OSError:
            print("no")
        """,
        tmp_path,
    )
    assert outcome.output == ("remount -1", "again -1", "over -1", "no")


@needs_namespaces
def test_proc_shows_no_secret_of_the_process_that_started_it(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", "planted-secret-value")
    outcome = _python(
        sandbox,
        """
        import os, pathlib
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            for name in ("environ", "cmdline", "root/etc/hostname"):
                try:
                    read = entry.name.isdigit() and (entry / name).read_bytes()
                    if read and b"planted" + b"-sec" in read:
                        found.append(str(entry / name))
                except OSError:
                    pass
        print(found, os.getpid() < 10)
        """,
    )
    assert outcome.output == ("[] True",)


def test_an_inherited_descriptor_is_closed(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("not for children")
    descriptor = os.open(secret, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    try:
        outcome = _python(
            sandbox,
            """
            import os
            names = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
                     if os.path.lexists(f"/proc/self/fd/{n}")]
            print([name for name in names if not name.startswith(("pipe:", "/dev/null", "/proc"))])
            """,
        )
    finally:
        os.close(descriptor)
    assert outcome.output == ("[]",)


@needs_namespaces
def test_the_secrets_of_a_home_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("private")
    (home / ".netrc").write_text("machine m password p")
    monkeypatch.setenv("HOME", str(home))
    assert secret_files() == (home / ".netrc", home / ".ssh")
    outcome = _python(
        sandbox,
        """
        import pathlib, sys
        home = pathlib.Path(sys.argv[1])
        print(list((home / ".ssh").iterdir()), repr((home / ".netrc").read_text()))
        """,
        home,
    )
    assert outcome.output == ("[] ''",)


@needs_namespaces
@pytest.mark.parametrize(
    ("network", "answer"), [("none", "unreachable"), ("loopback", "talked"), ("host", "talked")]
)
def test_the_network_is_what_was_asked_for(
    sandbox: Sandbox, network: Network, answer: str
) -> None:
    outcome = _python(
        replace(sandbox, network=network),
        """
        import socket
        try:
            server = socket.create_server(("127.0.0.1", 0))
            client = socket.create_connection(server.getsockname(), timeout=5)
            print("talked")
        except OSError as error:
            print("unreachable")
        """,
    )
    assert outcome.output == (answer,)


@needs_namespaces
@pytest.mark.parametrize("network", ["none", "loopback"])
def test_a_port_of_the_host_is_out_of_reach(sandbox: Sandbox, network: Network) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        outcome = _python(
            replace(sandbox, network=network),
            """
            import socket, sys
            try:
                socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5)
                print("reached")
            except OSError:
                print("not reached")
            """,
            server.getsockname()[1],
        )
    assert outcome.output == ("not reached",)


@pytest.mark.parametrize("kind", EITHER)
@pytest.mark.parametrize(
    ("limits", "source", "exceeded"),
    [
        (Limits(wall_s=0.4), "import time; time.sleep(60)", "wall_s"),
        (Limits(cpu_s=1), "while True: pass", "cpu_s"),
        (Limits(disk_bytes=1 << 20), "open('big', 'wb').write(bytes(1 << 22))", "disk_bytes"),
    ],
)
def test_a_limit_ends_a_command_and_is_named(
    sandbox: Sandbox, kind: Isolation, limits: Limits, source: str, exceeded: str
) -> None:
    # Python turns the signal of a file that grew too large into an error of its own
    program = f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n{source}"
    outcome = _python(replace(sandbox, isolation=kind, limits=limits), program)
    assert outcome.exceeded == exceeded
    assert not outcome.is_good


def test_memory_beyond_the_limit_is_not_given(sandbox: Sandbox) -> None:
    outcome = _python(
        sandbox,
        """
        try:
            bytearray(2 << 30)
            print("given")
        except MemoryError:
            print("refused")
        """,
    )
    assert outcome.output == ("refused",)


@pytest.mark.parametrize("kind", EITHER)
def test_too_many_processes_end_it_with_all_of_them(sandbox: Sandbox, kind: Isolation) -> None:
    limits = replace(sandbox.limits, num_processes=8)
    outcome = _python(
        replace(sandbox, isolation=kind, limits=limits),
        """
        import subprocess, sys, time
        marker = "planted-" + "forks"
        children = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)", marker])
                    for _ in range(20)]
        time.sleep(99)
        """,
    )
    assert outcome.exceeded == "num_processes"
    assert _processes_with("planted-forks") == []


@pytest.mark.parametrize("kind", EITHER)
def test_a_daemon_does_not_outlive_the_command(sandbox: Sandbox, kind: Isolation) -> None:
    outcome = _python(
        replace(sandbox, isolation=kind),
        """
        import os, subprocess, sys
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(99)", "planted-daemon"],
            start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print("left it behind")
        """,
    )
    assert outcome.output == ("left it behind",)
    assert _processes_with("planted-daemon") == []


def test_what_a_command_plants_for_later_does_not_run_outside(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    marker = tmp_path / "escaped"
    line = f"import pathlib; pathlib.Path({str(marker)!r}).touch()"
    outcome = _python(
        replace(sandbox, isolation="namespaces" if "namespaces" in EITHER else "plain"),
        """
        import os, pathlib, sys
        for name in ("sitecustomize.py", "usercustomize.py", "conftest.py", "evil.pth",
                     "json.py", "ctypes.py", "signal.py"):
            pathlib.Path(name).write_text(sys.argv[1])
        hooks = pathlib.Path(".git/hooks")
        hooks.mkdir(parents=True)
        hook = hooks / "pre-commit"
        hook.write_text("#!/bin/sh\\ntouch " + sys.argv[2] + "\\n")
        os.chmod(hook, 0o755)
        """,
        line,
        marker,
    )
    assert outcome.is_good
    # the guard and the jail of the next command start in this worktree's reach
    assert sandbox.run(["true"]).is_good
    assert not marker.exists()


def test_a_missing_program_is_an_outcome(sandbox: Sandbox) -> None:
    outcome = sandbox.run(["no-such-program"])
    assert outcome.exit_code == 127
    assert "cannot run no-such-program" in outcome.output[-1]


def test_where_nothing_is_isolated_people_are_told() -> None:
    assert warning("plain") == PLAIN_WARNING
    assert "user namespaces" in PLAIN_WARNING
    assert warning("namespaces") is None


def _processes_with(word: str) -> list[int]:
    deadline = time.monotonic() + 5.0
    while True:
        found = [
            p.pid
            for p in psutil.process_iter(["cmdline"])
            if word in (p.info["cmdline"] or []) and p.status() != psutil.STATUS_ZOMBIE
        ]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)
