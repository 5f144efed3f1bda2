"""Where the time of a ``command`` server goes: traces or shares, taken under load."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arbor.events.errors import InvalidInputError
from arbor.events.types import CategoryShare, Profile
from arbor.targets.base import ServerFailedError
from arbor.targets.command.benchmark import measure_window, play_load
from arbor.targets.command.config import CommandTargetConfig
from arbor.targets.command.locators import NotFoundInOutputError, Output
from arbor.targets.command.measures import (
    CommandProfile,
    HttpProfile,
    NoProfile,
    OpenAiLoad,
    TraceFormat,
)
from arbor.targets.command.process import CommandServer
from arbor.targets.command.programs import run_command
from arbor.targets.command.template import render
from arbor.targets.profiles import profile_of_rocprof, profile_of_trace

_POLL_S = 0.2


def take_profile(config: CommandTargetConfig, server: CommandServer, seed: int) -> Profile:
    """Return where the time goes under the benchmark's load.

    Raises:
        ServerFailedError: the server or the profiler failed, or told nothing.
    """
    settings = config.profile
    if isinstance(settings, NoProfile):
        started_s = time.monotonic()
        _load(config, server, seed)
        whole = (CategoryShare(category="all", share_ratio=1.0),)
        return Profile(shares=whole, window_s=time.monotonic() - started_s, source="none")
    if isinstance(settings, HttpProfile):
        return _by_requests(config, settings, server, seed)
    return _by_command(config, settings, server, seed)


def _load(config: CommandTargetConfig, server: CommandServer, seed: int) -> None:
    settings = config.benchmark
    if isinstance(settings, OpenAiLoad):
        play_load(server, settings, "profile", seed, settings.num_requests)
    else:
        measure_window(server, settings, seed, settings.num_requests)


def _by_requests(
    config: CommandTargetConfig, settings: HttpProfile, server: CommandServer, seed: int
) -> Profile:
    folder = Path(render(settings.traces, server.values))
    before = _sizes(folder)
    server.ask_text("profile", "POST", settings.start, settings.start_body)
    _load(config, server, seed)
    server.ask_text("profile", "POST", settings.stop, None, settings.stop_limit_s)
    deadline_s = time.monotonic() + settings.stop_limit_s
    # some servers answer before the traces are written
    while True:
        new = [path for path, size in _sizes(folder).items() if before.get(path) != size]
        try:
            return _newest(settings.format, new, folder)
        except InvalidInputError as error:
            server.child.check("profile")
            if time.monotonic() > deadline_s:
                raise server.child.failure("profile", str(error)) from error
        time.sleep(_POLL_S)


def _newest(format_name: TraceFormat, new: list[Path], folder: Path) -> Profile:
    """Return the profile of new traces alone."""
    if not new:
        raise InvalidInputError(f"no new trace in {folder}: was the server told to write there?")
    with tempfile.TemporaryDirectory(prefix="arbor-") as own:
        for index, path in enumerate(new):
            # the first folder's name keeps files of different ranks apart
            link = Path(own) / str(index) / path.name
            link.parent.mkdir()
            link.symlink_to(path.resolve())
        return _read(format_name, Path(own))


def _read(format_name: TraceFormat, folder: Path) -> Profile:
    return (profile_of_trace if format_name == "torch" else profile_of_rocprof)(folder)


def _sizes(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def _by_command(
    config: CommandTargetConfig, settings: CommandProfile, server: CommandServer, seed: int
) -> Profile:
    with tempfile.TemporaryDirectory(prefix="arbor-") as own:
        values = {**server.values, "output": own}
        with _meanwhile(config, server, seed, is_on=settings.is_under_load):
            ended = run_command(settings, values, server.folder, "profile", "the profile command")
        try:
            if settings.format != "shares":
                return _read(settings.format, Path(own))
            return _declared(settings, ended.output, ended.duration_s)
        except (InvalidInputError, NotFoundInOutputError) as error:
            raise ServerFailedError("profile", str(error)) from error


def _declared(settings: CommandProfile, output: Output, duration_s: float) -> Profile:
    """Return the shares that a program printed.

    Raises:
        NotFoundInOutputError: they are no object of numbers that are not negative.
    """
    found: Any = output.document() if settings.shares is None else output.find(settings.shares)
    try:
        times = {str(name): float(value) for name, value in found.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise NotFoundInOutputError("shares are no object of category and number") from error
    total = sum(times.values())
    if not 0 < total < float("inf") or min(times.values()) < 0:
        raise NotFoundInOutputError(f"shares add up to {total:g}, and none may be negative")
    return Profile(
        shares=tuple(
            CategoryShare(category=name, share_ratio=min(value / total, 1.0))
            for name, value in times.items()
        ),
        window_s=duration_s,
        source="command",
    )


@contextmanager
def _meanwhile(
    config: CommandTargetConfig, server: CommandServer, seed: int, *, is_on: bool
) -> Iterator[None]:
    """Play loads in another thread until what is inside ends.

    Raises:
        ServerFailedError: the server failed under the load.
    """
    is_over = threading.Event()
    failures: list[ServerFailedError] = []

    def work() -> None:
        number = seed
        while not is_over.is_set():
            try:
                _load(config, server, number)
            except ServerFailedError as error:
                failures.append(error)
                return
            number += 1

    thread = threading.Thread(target=work, daemon=True, name="profile-load")
    if is_on:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if is_on:
            thread.join()
    if failures:
        raise failures[0]
