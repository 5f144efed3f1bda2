"""Programs that stand in for the vendors' tools: real executables in a folder of their own."""

import shlex
import time
from collections.abc import Mapping
from pathlib import Path

import psutil


class VendorTools:
    """Writes executables.

    Args:
        folder: where they go; it is to be the only one in PATH.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def runs(self, tool: str, script: str) -> None:
        """Let a tool run a shell script; its programs need absolute paths."""
        path = self.folder / tool
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def prints(self, tool: str, text: str, exit_code: int = 0) -> None:
        """Let a tool print a text, whatever it is asked, and end."""
        output = self.folder / f"{tool}.output"
        output.write_text(text)
        self.runs(tool, f"/bin/cat {shlex.quote(str(output))}\nexit {exit_code}")

    def answers(self, tool: str, files: Mapping[str, Path]) -> None:
        """Let a tool print a file by its first argument, and refuse any other.

        Args:
            tool: name of the tool.
            files: files by the first argument's pattern.
        """
        cases = "\n".join(
            f"{pattern}) /bin/cat {shlex.quote(str(file.resolve()))} ;;"
            for pattern, file in files.items()
        )
        self.runs(tool, f'case "$1" in\n{cases}\n*) echo "unknown: $1" >&2; exit 2 ;;\nesac')

    def hangs(self, tool: str) -> None:
        """Let a tool start a child that holds its output, note its number, and never end."""
        note = shlex.quote(str(self.folder / "child"))
        self.runs(tool, f"/bin/sleep 600 &\necho $! > {note}\nwait")

    def child_ends(self, limit_s: float = 30.0) -> bool:
        """Wait until the child of what hangs is gone, or a zombie that nobody collects."""
        number = int((self.folder / "child").read_text())
        deadline_s = time.monotonic() + limit_s
        while time.monotonic() < deadline_s:
            try:
                if psutil.Process(number).status() == psutil.STATUS_ZOMBIE:
                    return True
            except psutil.NoSuchProcess:
                return True
            time.sleep(0.01)
        return False
