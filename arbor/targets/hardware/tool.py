"""Runs a vendor's tool: never a shell, a clean environment, limits, and never an exception."""

import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 10.0
_LIMIT_BYTES = 8 * 2**20
_KILLED_S = 1.0
_REASON_CHARS = 200
# where installers put the tools without adding the folder to PATH
_FOLDERS = ("/opt/rocm/bin", "/usr/local/nvidia/bin", "/usr/lib/wsl/lib")
# LD_PRELOAD, PYTHON* and the like are the campaign's own and change or break the tools
_KEPT = ("HOME", "LD_LIBRARY_PATH", "ROCM_PATH")
_JSON_START = re.compile(r"^\s*[\[{]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Printed:
    """What a tool printed.

    Attributes:
        text: its standard output.
        problem: why the output cannot be used; empty when the tool ended well.
    """

    text: str
    problem: str = ""


def is_installed(tool: str) -> bool:
    """Return whether the tool can be found."""
    return shutil.which(tool, path=_search_path()) is not None


def ask(tool: str, *arguments: str, limit_s: float = LIMIT_S) -> Printed:
    """Run a tool and return what it printed.

    Args:
        tool: name of the program.
        arguments: its arguments.
        limit_s: seconds after which the tool and all its children are killed.
    """
    program = shutil.which(tool, path=_search_path())
    if program is None:
        return Printed("", f"{tool} is not installed")
    try:
        # no context manager: it would wait for ever
        process = subprocess.Popen(
            (program, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,
        )
    except OSError as error:
        return Printed("", f"{tool} does not start: {error.strerror}")
    printed, complaint = bytearray(), bytearray()
    try:
        problem = _collect(process, printed, complaint, limit_s)
    finally:
        _end(process)
    text = printed.decode("utf-8", errors="replace")
    if problem:
        return Printed(text, f"{tool} {problem}")
    if process.returncode != 0:
        line = _first_line(complaint.decode("utf-8", errors="replace")) or _first_line(text)
        return Printed(text, f"{tool} ended with exit code {process.returncode}: {line}")
    return Printed(text)


def read_json(text: str) -> object:
    """Return the first JSON object or list in a text; tools print warnings before it.

    Raises:
        ValueError: there is none.
    """
    decoder = json.JSONDecoder()
    for match in _JSON_START.finditer(text):
        # RecursionError: brackets a thousand deep
        with suppress(ValueError, RecursionError):
            document, _ = decoder.raw_decode(text, match.end() - 1)
            if document:
                return document
    raise ValueError(f"no JSON in {_first_line(text)!r}")


def _search_path() -> str:
    """Return PATH without this virtual environment, whose Python lacks what the tools import."""
    own = str(Path(sys.prefix) / "bin") if sys.prefix != sys.base_prefix else ""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([*(name for name in folders if name and name != own), *_FOLDERS])


def _environment() -> Mapping[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "PATH": _search_path(), "LC_ALL": "C"}


def _collect(
    process: subprocess.Popen[bytes], printed: bytearray, complaint: bytearray, limit_s: float
) -> str:
    """Read until the tool ends, and return what went wrong."""
    deadline_s = time.monotonic() + limit_s
    problem = ""
    for buffer, chunk in _chunks(process, printed, complaint, deadline_s):
        buffer.extend(chunk)
        if len(buffer) > _LIMIT_BYTES:
            problem = f"printed more than {_LIMIT_BYTES} bytes"
            break
    if not problem:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(deadline_s - time.monotonic(), 0.0))
    if process.poll() is None:
        problem = problem or f"did not answer within {limit_s:g} s"
    return problem


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what still runs, children included, and close the streams."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # a tool that waits for a broken driver cannot be killed; nobody waits for it
        with suppress(subprocess.TimeoutExpired):
            process.wait(_KILLED_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _chunks(
    process: subprocess.Popen[bytes], printed: bytearray, complaint: bytearray, deadline_s: float
) -> Iterator[tuple[bytearray, bytes]]:
    """Return what arrives on both streams until they are closed or the time is over."""
    with selectors.DefaultSelector() as selector:
        for stream, buffer in ((process.stdout, printed), (process.stderr, complaint)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, buffer)
        while selector.get_map():
            ready = selector.select(max(deadline_s - time.monotonic(), 0.0))
            if not ready:
                return
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                yield key.data, chunk


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:_REASON_CHARS]
