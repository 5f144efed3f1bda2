"""An exported stack starts from its files alone, with the knobs of its commit."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

from arbor.targets.child import free_port
from arbor.targets.command.target import LAUNCH_FILE
from tests.fakes.processes import wait_until
from tests.targets.command.small import small_target


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "arbor.targets.command", str(folder)]
    return subprocess.Popen(words, env=os.environ | {"PORT": str(port)}, stderr=subprocess.PIPE)


def test_a_server_starts_from_its_files(tmp_path: Path) -> None:
    small_target().create_workspace(tmp_path)
    config = (tmp_path / "serve.yaml").read_text().replace("threads: 1", "threads: 3")
    (tmp_path / "serve.yaml").write_text(config)
    port = free_port()
    address = f"http://127.0.0.1:{port}/props"

    def threads() -> int:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                told: int = json.load(answer)["settings"][0]["threads"]
                return told
        except OSError:
            return 0

    with start(tmp_path, port) as server:
        try:
            wait_until(lambda: threads() == 3, 60.0)
        finally:
            server.kill()


def test_a_folder_without_a_stack_is_one_line(tmp_path: Path) -> None:
    (tmp_path / LAUNCH_FILE).write_text("{}")
    with start(tmp_path, 1) as server:
        assert server.stderr is not None
        [line] = server.stderr.read().decode().splitlines()
        assert server.wait() == 1
    assert line.startswith(f"error: {tmp_path} holds no stack: ")
