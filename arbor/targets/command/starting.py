"""Starts a server of the ``command`` target: its words, variables, files, and a free port."""

import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from arbor.events.errors import InvalidInputError
from arbor.events.types import Scalar
from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess, clean_environment
from arbor.targets.command.actions import SECTION
from arbor.targets.command.config import CommandTargetConfig, Launch
from arbor.targets.command.process import CommandServer
from arbor.targets.command.template import Values, render_file
from arbor.targets.serve_yaml import CONFIG_FILE, load_config

HOST = "127.0.0.1"
_PORT_TRIES = 3


class CommandStarter:
    """Knows how a server is started.

    Args:
        config: the target's options.
        choose_port: returns a port that is free on a host.
    """

    def __init__(self, config: CommandTargetConfig, choose_port: Callable[[str], int]) -> None:
        self._config = config
        self._choose_port = choose_port
        self._folder = config.folder.resolve()

    @contextmanager
    def start(self, worktree: Path, log_path: Path) -> Iterator[CommandServer]:
        """Start the server of a worktree and wait until it is healthy; end it on exit.

        Raises:
            ServerFailedError: it ended, was not healthy in time, or its files are wrong.
        """
        knobs = self._knobs(worktree)
        for tries_left in reversed(range(_PORT_TRIES)):
            port = self._choose_port(HOST)
            scratch = Path(tempfile.mkdtemp(prefix="arbor-"))
            try:
                server = self._server(knobs, port, worktree, scratch, log_path)
                with server.child:
                    try:
                        server.child.wait_ready(server.is_ready, self._config.launch.limit_s)
                    except ServerFailedError:
                        # somebody else was faster to take the port
                        if tries_left and server.child.poll() is not None and _is_taken(port):
                            continue
                        raise
                    yield server
                    return
            finally:
                shutil.rmtree(scratch, ignore_errors=True)

    def _knobs(self, worktree: Path) -> dict[str, Scalar]:
        """Return the knobs of a worktree."""
        try:
            text = (worktree / CONFIG_FILE).read_text(encoding="utf-8")
            config = load_config(text)
        except (OSError, InvalidInputError) as error:
            raise ServerFailedError("start", f"{CONFIG_FILE} cannot be used: {error}") from error
        knobs = {key.removeprefix(f"{SECTION}."): value for key, value in config.items()}
        missing = sorted(set(self._config.knobs) - set(knobs))
        unknown = sorted(set(knobs) - set(self._config.knobs))
        if missing or unknown:
            what = f"lacks {missing[0]}" if missing else f"has {unknown[0]}, which is no knob"
            raise ServerFailedError("start", f"{CONFIG_FILE} {what}")
        return knobs

    def _server(
        self,
        knobs: dict[str, Scalar],
        port: int,
        worktree: Path,
        scratch: Path,
        log_path: Path,
    ) -> CommandServer:
        launch = self._config.launch
        values = server_values(knobs, port, self._folder, worktree, scratch)
        write_files(launch, values, scratch)
        child = ChildProcess(
            launch.argv(values),
            clean_environment(launch.environment(values)),
            self._folder,
            log_path,
            grace_s=launch.grace_s,
            log_limit_bytes=launch.log_limit_bytes,
        )
        return CommandServer(self._config, child, values, self._folder)


def server_values(
    knobs: dict[str, Scalar], port: int, folder: Path, worktree: Path, scratch: Path
) -> Values:
    """Return what the placeholders of a launch stand for."""
    return {
        **knobs,
        "host": HOST,
        "port": port,
        "folder": str(folder),
        "workspace": str(worktree.resolve()),
        "scratch": str(scratch),
    }


def write_files(launch: Launch, values: Values, scratch: Path) -> None:
    """Write the files that a launch asks for."""
    for name, text in launch.files.items():
        file = scratch / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(render_file(name, text, values), encoding="utf-8")


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0
