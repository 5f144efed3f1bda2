"""Arbor as a Ray job: a cluster that is there already, and an upload without the heavy folders."""

import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.system.campaigns import LIMIT_S, REPOSITORY, arbor, environment

pytestmark = pytest.mark.system

BIN = Path(sys.executable).parent
MAX_UPLOAD_BYTES = 8 * 2**20


def free_ports(num: int) -> list[int]:
    """Return ports that were free a moment ago."""
    listeners = [socket.socket() for _ in range(num)]
    try:
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()


@dataclass(frozen=True)
class Head:
    """A head node of our own, apart from any other Ray on this machine."""

    address: str
    dashboard: str
    variables: dict[str, str]


@pytest.fixture
def head() -> Iterator[Head]:
    # Ray's socket names are too long below pytest's own folders.
    with tempfile.TemporaryDirectory(prefix="arbor-ray-", ignore_cleanup_errors=True) as folder:
        gcs, dashboard, client, agent, metrics = free_ports(5)
        variables = environment(
            RAY_AUTH_MODE="token",
            RAY_AUTH_TOKEN=secrets.token_hex(32),
            RAY_USAGE_STATS_ENABLED="0",
            PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}",
        )
        options = {
            "port": gcs,
            "dashboard-host": "127.0.0.1",
            "dashboard-port": dashboard,
            "dashboard-agent-listen-port": agent,
            "ray-client-server-port": client,
            "metrics-export-port": metrics,
            "node-ip-address": "127.0.0.1",
            "num-cpus": 2,
            "object-store-memory": 80_000_000,
            "temp-dir": folder,
        }
        # In the foreground, since `ray stop` would end every Ray of this machine.
        with (Path(folder) / "head.out").open("wb") as out:
            process = subprocess.Popen(
                [
                    BIN / "ray",
                    "start",
                    "--head",
                    "--block",
                    *(f"--{name}={value}" for name, value in options.items()),
                ],
                env=variables,
                stdout=out,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        try:
            _wait_until_listening(process, dashboard, Path(out.name))
            yield Head(f"127.0.0.1:{gcs}", f"http://127.0.0.1:{dashboard}", variables)
        finally:
            process.terminate()
            process.wait(LIMIT_S)


def _wait_until_listening(process: "subprocess.Popen[bytes]", port: int, out: Path) -> None:
    deadline = time.monotonic() + LIMIT_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, out.read_text()
        assert time.monotonic() < deadline, out.read_text()
        time.sleep(0.1)


def test_a_campaign_runs_as_a_job(head: Head) -> None:
    # One start of Ray: the head; the job's driver joins it.
    command = ["python", "-m", "arbor", "run", "examples/landscape.yaml"]
    submit = [BIN / "ray", "job", "submit", "--address", head.dashboard, "--working-dir", "."]
    done = subprocess.run(
        [*submit, "--", *command],
        cwd=REPOSITORY,
        env=head.variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "succeeded" in done.stdout
    assert "the campaign is over" in done.stdout
    place = re.search(r"campaign directory (\S+)", done.stdout)
    assert place is not None
    directory = Path(place[1])
    assert arbor("audit", directory).returncode == 0
    assert "give --dir on a disk that stays" in done.stdout
    _require_small_upload(directory.parents[1])


def _require_small_upload(package: Path) -> None:
    """Check what Ray unpacked from the upload, apart from the campaign that ran there."""
    names = {path.name for path in package.iterdir()} - {"runs"}
    assert names >= {"arbor", "examples", "pyproject.toml"}
    # The code is reached through the links below arbor/, once and under its only name.
    assert (package / "arbor" / "actors" / "cluster.py").is_file()
    assert (package / "arbor" / "kernels").is_dir()
    heavy = {".venv", ".git", "actors", "events", "kernels", "replay", "tests", "benchmarks"}
    assert not names & heavy
    files = [path for name in names for path in (package / name).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MAX_UPLOAD_BYTES
