"""Which servers of a campaign hold how much of a machine's accelerators, told between processes.

The bench and the specialists start servers from processes of their own; what one of them started
is no stranger to the other.
"""

import fcntl
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil


class DeviceLedger:
    """Records in a folder, one for each server; those of other machines are passed over.

    Args:
        folder: of the campaign; all its processes have it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._host = socket.gethostname()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until no other process of this machine starts a server.

        Starts that overlap cannot tell their memory apart, and vLLM itself fails when memory that
        it measures changes for another reason.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"{self._host}.lock").open("w") as lock:
            # a process that dies lets it go
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def note(self, name: str, pid: int, held_bytes: Mapping[int, int]) -> None:
        """Record what a server holds.

        Args:
            name: of the server.
            pid: its process, with which the record ends.
            held_bytes: by device.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        body = {"pid": pid, "held_bytes": {str(k): v for k, v in held_bytes.items()}}
        path = self._path(name)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(body), encoding="ascii")
        partial.replace(path)

    def forget(self, name: str) -> None:
        """Take a record away; harmless when there is none."""
        self._path(name).unlink(missing_ok=True)

    def held_bytes(self) -> dict[int, int]:
        """Return what all servers hold whose processes are alive, by device."""
        total: dict[int, int] = {}
        for path in self._folder.glob(f"{self._host}.*.json"):
            # it may be taken away meanwhile
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                body = json.loads(path.read_text(encoding="ascii"))
                if not psutil.pid_exists(body["pid"]):
                    continue
                for device, num_bytes in body["held_bytes"].items():
                    total[int(device)] = total.get(int(device), 0) + int(num_bytes)
        return total

    def _path(self, name: str) -> Path:
        return self._folder / f"{self._host}.{name}.json"
