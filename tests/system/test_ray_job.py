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

from arbor.events.campaign import CampaignPaused
from arbor.events.evidence import PairMeasured
from tests.system.campaigns import (
    LIMIT_S,
    REPOSITORY,
    arbor,
    environment,
    landscape,
    only,
    read_log,
)

pytestmark = pytest.mark.system

BIN = Path(sys.executable).parent
MAX_UPLOAD_BYTES = 4 * 2**20


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

    dashboard: str
    variables: dict[str, str]


@pytest.fixture(scope="module")
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
            yield Head(f"http://127.0.0.1:{dashboard}", variables)
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


def job(head: Head, command: str, *arguments: str | Path) -> str:
    """Run ``ray job`` against a head; return what it printed."""
    done = subprocess.run(
        ["ray", "job", command, "--address", head.dashboard, *arguments],
        cwd=REPOSITORY,
        env=head.variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_campaign_runs_as_a_job(head: Head) -> None:
    # One start of Ray for both tests: the head; the jobs' drivers join it.
    command = ("python", "-m", "arbor", "run", "examples/landscape.yaml")
    printed = job(head, "submit", "--working-dir", ".", "--", *command)
    assert "succeeded" in printed
    assert "the campaign is over" in printed
    place = re.search(r"campaign directory (\S+)", printed)
    assert place is not None
    directory = Path(place[1])
    assert arbor("audit", directory).returncode == 0
    assert "give --dir on a disk that stays" in printed
    _require_small_upload(directory.parents[1])


def test_a_job_that_is_stopped_pauses(head: Head, tmp_path: Path) -> None:
    directory = tmp_path / "campaign"
    file = landscape(tmp_path / "campaign.yaml")
    command = ("python", "-m", "arbor", "run", file, "--dir", directory)
    options = ("--no-wait", "--submission-id", "stopped", "--working-dir", ".")
    job(head, "submit", *options, "--", *command)
    deadline = time.monotonic() + LIMIT_S
    while not only(read_log(directory), PairMeasured):
        assert time.monotonic() < deadline, job(head, "logs", "stopped")
        time.sleep(0.1)
    job(head, "stop", "stopped")
    assert only(read_log(directory), CampaignPaused)


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
