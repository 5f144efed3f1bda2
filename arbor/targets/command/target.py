"""The ``command`` target: any HTTP server that a campaign file describes by its commands."""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

from arbor.core.accuracy import Gate
from arbor.events.errors import InvalidInputError
from arbor.events.types import (
    AccuracySample,
    ActionTemplate,
    Hardware,
    Load,
    Profile,
    Scalar,
    WindowSample,
)
from arbor.targets.base import STANDARD_LOAD, Server
from arbor.targets.child import free_port
from arbor.targets.command.actions import key_of
from arbor.targets.command.answers import AnswerCheck
from arbor.targets.command.benchmark import measure_window, play_load
from arbor.targets.command.commands import Command
from arbor.targets.command.config import CommandTargetConfig
from arbor.targets.command.measures import AnswerAccuracy, LogprobAccuracy, OpenAiLoad
from arbor.targets.command.next_tokens import NextTokenCheck
from arbor.targets.command.process import CommandServer
from arbor.targets.command.profile import take_profile
from arbor.targets.command.scores import ScoreCheck
from arbor.targets.command.starting import CommandStarter
from arbor.targets.serve_yaml import CONFIG_FILE, dump_config

__all__ = ["CommandTarget", "CommandTargetConfig"]

LAUNCH_FILE = "launch.json"
"""File of a workspace that says how its server is started, for those who have no campaign."""
_WARMUP_LOADS = 3
_WARMUP_S = 0.5


class CommandTarget:
    """Implements ``Target`` over commands.

    Attributes:
        config: what it was made from.
    """

    name = "command"

    def __init__(
        self, config: CommandTargetConfig, choose_port: Callable[[str], int] = free_port
    ) -> None:
        self.config = config
        self._starter = CommandStarter(config, choose_port)

    def check(self, hardware: Hardware) -> None:  # noqa: ARG002 - the commands know their machine
        """Check that programs, folder and actions are there before anything starts.

        Raises:
            InvalidInputError: one is missing.
        """
        folder = self.config.folder.resolve()
        if not folder.is_dir():
            raise InvalidInputError(f"target command: folder {folder} does not exist; correct it")
        for name, command in self._commands():
            program = command.program()
            found = None if program is None else shutil.which(_located(program, folder))
            if program is not None and found is None:
                raise InvalidInputError(
                    f"target command: {name}: program {program!r} was not found in PATH or "
                    f"{folder}; install it, or write its whole path"
                )
        if not self.config.actions:
            raise InvalidInputError(
                "target command: there are no actions; add what may be tried (docs/targets.md)"
            )

    def create_workspace(self, path: Path) -> None:
        """Write the knobs at the baseline's values, and how the server is started."""
        (path / CONFIG_FILE).write_bytes(dump_config(self.baseline_config()))
        launch = self.config.launch.model_dump(mode="json", by_alias=True)
        folder = str(self.config.folder.resolve())
        document = {"launch": launch, "folder": folder, "metrics": self.config.metrics}
        (path / LAUNCH_FILE).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")

    def baseline_config(self) -> dict[str, Scalar]:
        """Return the knobs as the campaign file gives them."""
        return {key_of(name): value for name, value in self.config.knobs.items()}

    def actions(self, hardware: Hardware) -> Sequence[ActionTemplate]:  # noqa: ARG002 - as above
        """Return the actions of the campaign file."""
        return self.config.templates()

    def serve(self, worktree: Path, log_path: Path) -> AbstractContextManager[CommandServer]:
        """Start the server with the knobs of a worktree.

        Raises:
            ServerFailedError: it ended, or was not healthy in time.
        """
        return self._starter.start(worktree, log_path)

    def warmup(self, server: Server, seed: int) -> None:
        """Play small windows until half a second is over, three at most.

        Raises:
            ServerFailedError: the server or the benchmark failed.
        """
        own, settings = _own(server), self.config.benchmark
        started_s = time.monotonic()
        for number in range(_WARMUP_LOADS):
            if isinstance(settings, OpenAiLoad):
                play_load(own, settings, "start", seed + number, settings.concurrency)
            else:
                measure_window(own, settings, seed + number, settings.concurrency)
            if time.monotonic() - started_s > _WARMUP_S:
                return

    def profile(self, server: Server, seed: int) -> Profile:
        """Return where the time goes, as far as the campaign file says how to find out.

        Raises:
            ServerFailedError: the server or the profiler failed.
        """
        return take_profile(self.config, _own(server), seed)

    def workloads(self) -> Sequence[str]:
        """Return the names of the further workloads."""
        return sorted(self.config.benchmark.workloads)

    def benchmark(
        self, server: Server, seed: int, num_requests: int, load: Load = STANDARD_LOAD
    ) -> WindowSample:
        """Play one window.

        Raises:
            ServerFailedError: the server or the benchmark failed, hung, or completed nothing.
        """
        settings, metrics = self.config.benchmark, self.config.metrics
        return measure_window(_own(server), settings, seed, num_requests, load, metrics=metrics)

    def reference(self, server: Server) -> bytes:
        """Return the baseline's distributions, answers or score.

        Raises:
            ServerFailedError: the server or the accuracy command failed.
        """
        return self._check.reference(_own(server))

    def accuracy(
        self, server: Server, reference: bytes, gate: Gate | None = None
    ) -> AccuracySample:
        """Return the distance of a server from a reference.

        Raises:
            InvalidInputError: the reference was taken with other settings.
            ServerFailedError: the server or the accuracy command failed.
        """
        return self._check.accuracy(_own(server), reference, gate)

    def default_concurrency(self) -> int:
        """Return the configured number of open requests."""
        return self.config.benchmark.concurrency

    def rss_bytes(self, server: Server) -> int | None:
        """Return the resident memory of the server's processes; None once they have ended."""
        return _own(server).rss_bytes()

    def default_num_requests(self) -> int:
        """Return the configured number of requests."""
        return self.config.benchmark.num_requests

    def max_servers(self) -> int:
        """Return how many servers the bench may keep up, beside one of a specialist."""
        return min(self.config.max_servers - 1, 2)

    def num_devices(self, config: Mapping[str, Scalar]) -> int:  # noqa: ARG002 - knobs ask for none
        """Return the accelerators that a server of a configuration needs."""
        return self.config.num_devices

    @cached_property
    def _check(self) -> NextTokenCheck | AnswerCheck | ScoreCheck:
        settings = self.config.accuracy
        if isinstance(settings, LogprobAccuracy):
            return NextTokenCheck(settings, self.default_concurrency())
        if isinstance(settings, AnswerAccuracy):
            return AnswerCheck(settings, self.default_concurrency())
        if settings.kind == "command":
            return ScoreCheck(settings)
        raise InvalidInputError("target command: accuracy none keeps nothing")

    def _commands(self) -> Iterator[tuple[str, Command]]:
        config = self.config
        named = {
            "launch": config.launch,
            "health": config.health.command,
            "benchmark": config.benchmark,
            "accuracy": config.accuracy,
            "profile": config.profile,
        }
        for name, section in named.items():
            if isinstance(section, Command):
                yield name, section


def _located(program: str, folder: Path) -> str:
    """Return where a program is looked for: beside the folder when its name has a slash."""
    return str(folder / program) if "/" in program else program


def _own(server: Server) -> CommandServer:
    if not isinstance(server, CommandServer):
        raise TypeError(f"{type(server).__name__} was not started by the command target")
    return server
