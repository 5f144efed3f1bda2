"""What a target is: a stack that can be started from a worktree and measured."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from arbor.core.accuracy import Gate
from arbor.events.causes import LogLine
from arbor.events.errors import ArborError
from arbor.events.types import (
    AccuracySample,
    ActionTemplate,
    Hardware,
    Load,
    Profile,
    Scalar,
    WindowSample,
)

FlatConfig = Mapping[str, Scalar]
"""``section.key`` to value."""

STANDARD_LOAD = Load()
"""The target's own workload at its own concurrency."""


class ServerFailedError(ArborError):
    """A candidate's server did not start, died, hung or answered nonsense.

    This is an outcome of a trial, recorded as ``Crashed``; it never ends a campaign.

    Attributes:
        phase: ``start``, ``profile``, ``accuracy`` or ``benchmark``.
        message: one line.
        exit_code: exit code of the server, when it ended by itself.
        signal: number of the signal that ended it.
        log_tail: last lines of the server's log.
        log_excerpt: telling lines of the whole log, with their numbers.
    """

    def __init__(  # noqa: PLR0917 - pickled by Ray with positional values
        self,
        phase: str,
        message: str,
        exit_code: int | None = None,
        signal: int | None = None,
        log_tail: tuple[str, ...] = (),
        log_excerpt: tuple[LogLine, ...] = (),
    ) -> None:
        super().__init__(phase, message, exit_code, signal, log_tail, log_excerpt)
        self.phase = phase
        self.message = message
        self.exit_code = exit_code
        self.signal = signal
        self.log_tail = log_tail
        self.log_excerpt = log_excerpt

    def __str__(self) -> str:
        return f"server failed in {self.phase}: {self.message}"


class Server(Protocol):
    """A running server of one commit."""

    def resolved_config(self) -> FlatConfig:
        """Return the configuration that the server says it runs with.

        Raises:
            ServerFailedError: the server does not answer.
        """
        ...


class Target(Protocol):
    """What can be optimised. One instance lives in each process that has effects.

    All methods but ``create_workspace`` and ``actions`` may raise ``ServerFailedError``.
    """

    name: str

    def check(self, hardware: Hardware) -> None:
        """Check before anything starts that the target can run here.

        Raises:
            InvalidInputError: something is missing; one line with the fix.
        """
        ...

    def create_workspace(self, path: Path) -> None:
        """Write the baseline's files into an empty folder; they become the root commit."""
        ...

    def baseline_config(self) -> FlatConfig:
        """Return the flat configuration that the files of ``create_workspace`` hold."""
        ...

    def actions(self, hardware: Hardware) -> Sequence[ActionTemplate]:
        """Return the catalog for a machine."""
        ...

    def serve(self, worktree: Path, log_path: Path) -> AbstractContextManager[Server]:
        """Start the server of a worktree and wait until it is ready; end it on exit."""
        ...

    def profile(self, server: Server, seed: int) -> Profile:
        """Return where the time goes under the benchmark's load."""
        ...

    def workloads(self) -> Sequence[str]:
        """Return the workloads that a load may name; the standard one is ``""``."""
        ...

    def benchmark(
        self, server: Server, seed: int, num_requests: int, load: Load = STANDARD_LOAD
    ) -> WindowSample:
        """Play one window of ``num_requests`` requests with fresh prompts from ``seed``.

        Equal seeds, numbers and loads give equal work. ``counters`` of the sample hold the growth
        of the server's counters during the window, which witnesses read.
        """
        ...

    def reference(self, server: Server) -> bytes:
        """Return the baseline's answers to the fixed accuracy prompts, to compare with later."""
        ...

    def accuracy(
        self, server: Server, reference: bytes, gate: Gate | None = None
    ) -> AccuracySample:
        """Return the distance of a server from a reference.

        A target may stop early once the bounds of ``gate`` clearly hold or clearly fail; it
        compares everything when there is none.
        """
        ...

    def warmup(self, server: Server, seed: int) -> None:
        """Play enough load that lazy work is done before the first window."""
        ...

    def default_concurrency(self) -> int:
        """Return the requests that the standard load holds open at once."""
        ...

    def rss_bytes(self, server: Server) -> int | None:
        """Return the resident memory of a server's processes; None when it is not known."""
        ...

    def default_num_requests(self) -> int:
        """Return a number of requests to start the calibration of the window's length with."""
        ...


@runtime_checkable
class DeviceTarget(Protocol):
    """A target whose servers take accelerators; every other takes none."""

    def num_devices(self, config: FlatConfig) -> int:
        """Return the accelerators of one node that a server of a configuration takes.

        0 for servers that run on processors. Asked on the driver too, which may have none.
        """
        ...


def num_devices_of(target: Target, config: FlatConfig) -> int:
    """Return the accelerators that a server of a configuration takes; 0 for most targets."""
    return target.num_devices(config) if isinstance(target, DeviceTarget) else 0


@runtime_checkable
class VersionedTarget(Protocol):
    """A target that can say which software its stack runs on."""

    def versions(self) -> Sequence[str]:
        """Return what decides which kernels there are, each ``name version``."""
        ...


@runtime_checkable
class QuickTarget(Protocol):
    """A target that can also start a server from a process that was prepared for it.

    Such servers are for trials; a final claim is about servers that were started afresh.
    """

    def serve_quickly(self, worktree: Path, log_path: Path) -> AbstractContextManager[Server]:
        """Do what ``serve`` does, sooner where that is possible."""
        ...


class ArmPlan(NamedTuple):
    """One arm of a pair that is played in turns: its windows, one after the other.

    Attributes:
        server: the arm's.
        seeds: of its windows.
        slice_s: seconds of one turn.
    """

    server: Server
    seeds: Sequence[int]
    slice_s: float


Windows = list[WindowSample]
ArmWindows = Future[Windows]
"""Ended windows of an arm, or the ``ServerFailedError`` of its server."""


@runtime_checkable
class TurnsTarget(Protocol):
    """A target that can stop a server for milliseconds, to play both arms of a pair at once.

    Neighbours come and go within seconds; in turns of milliseconds both arms see the same ones.
    """

    def benchmark_in_turns(
        self, arms: tuple[ArmPlan, ArmPlan], num_requests: int, load: Load = STANDARD_LOAD
    ) -> tuple[ArmWindows, ArmWindows]:
        """Play the windows of two servers in turns, the first one's turn first.

        Times of the samples are those in which the server was let run. Returns when both are done.
        """
        ...


@runtime_checkable
class ScreeningTarget(Protocol):
    """A target that can screen trials on less than a server, which starts sooner.

    What is screened finds out what does not run and chooses among trials; it is never evidence.
    """

    def has_smoke_test(self) -> bool:
        """Return whether what has no numbers to search is started before it is proposed.

        Where starts take minutes, that of the bench is soon enough to see it fail.
        """
        ...

    def serve_for_screening(
        self, worktree: Path, log_path: Path
    ) -> AbstractContextManager[Server]:
        """Start what plays a window of a worktree soonest; a server where nothing else can."""
        ...


@dataclass(frozen=True, slots=True)
class LocalCheck:
    """A command that tells whether a patch is worth a start; it runs in the sandbox.

    Attributes:
        name: what it is, for people and models.
        argv: its words; the working directory is the patched worktree.
        environment: variables beyond the clean environment.
    """

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class PatchableTarget(Protocol):
    """A target whose workspace holds sources that a patch may change, below ``overlay/``.

    A server of a patched commit reports ``overlay.<file>`` with the SHA-256 of every changed file
    in its resolved configuration, and runs what the patch brings in a jail.
    """

    def patchable(self) -> Mapping[str, str]:
        """Return the files that a patch may change, and the profile's category of each."""
        ...

    def local_checks(self) -> Sequence[LocalCheck]:
        """Return what is asked of a patch before a server is started on it, in order."""
        ...


@runtime_checkable
class CrowdedTarget(Protocol):
    """A target whose servers share memory that holds only some of them."""

    def max_servers(self) -> int:
        """Return how many servers the bench may keep up, beside one of a specialist.

        With 0 it keeps one while it measures, and none afterwards.
        """
        ...


@runtime_checkable
class CachingTarget(Protocol):
    """A target that keeps compiled code between starts, in folders of its own."""

    def cache_folders(self) -> Sequence[Path]:
        """Return the folders; whatever is in them can be made again."""
        ...
