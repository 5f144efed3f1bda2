"""What a server logged during a window: warnings, errors, and code that it compiled."""

import re
from dataclasses import dataclass
from pathlib import Path

_MAX_READ_BYTES = 4 * 1024 * 1024

_COMPILING = re.compile(
    r"\[aiter\] start build|Compiling a graph|autotun|JIT compilation|DeepGEMM warmup",
    re.IGNORECASE,
)
"""Lines of vLLM, AITER, Triton and DeepGEMM; facts/anomalies.md names the reports."""
_WARNING = re.compile(r"\b(WARNING|ERROR|CRITICAL|FATAL)\b|\w*(Warning|Error): ")


@dataclass(frozen=True, slots=True)
class LoggedLines:
    """Lines of a part of a log, by what they say."""

    num_warnings: int
    num_compilations: int


class LogMark:
    """A place in a log file; reads what was written after it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._start_bytes = _size_bytes(path)

    def read(self) -> LoggedLines:
        """Count lines since the mark; a log that was rotated is read from its start."""
        start_bytes = self._start_bytes if _size_bytes(self._path) >= self._start_bytes else 0
        text = b""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(start_bytes)
                text = file.read(_MAX_READ_BYTES)
        lines = text.decode(errors="replace").splitlines()
        return LoggedLines(
            num_warnings=sum(1 for line in lines if _WARNING.search(line)),
            num_compilations=sum(1 for line in lines if _COMPILING.search(line)),
        )


def _size_bytes(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
