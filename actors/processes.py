"""What runs in each actor's process: the same classes that Ray makes into actors."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from arbor.actors.adviser import Adviser
from arbor.actors.bench import Bench
from arbor.actors.crew import DispatchBoard, build_specialist
from arbor.actors.critic import Critic
from arbor.actors.founding import Ground, lay_ground, require_ground
from arbor.actors.journal import Journal
from arbor.actors.operations_log import operations_log
from arbor.actors.orchestrator import Orchestrator
from arbor.actors.place import Place
from arbor.actors.sentry import Sentry, no_devices
from arbor.actors.shell import ReactorShell
from arbor.actors.snapshots import Snapshots
from arbor.core.campaign import Campaign
from arbor.core.clock import SystemClock
from arbor.core.layout import CampaignDirectory
from arbor.core.names import specialist_name
from arbor.core.reactor import Reactor
from arbor.events.blobs import BlobStore
from arbor.events.errors import ArborError, FencedError, LogError
from arbor.events.log import EventLog
from arbor.targets.base import Target
from arbor.targets.devices import show_devices
from arbor.targets.hardware import probe_hardware
from arbor.targets.hardware.reading import Reader
from arbor.targets.hardware.telemetry import reader_of
from arbor.targets.registry import create_target
from arbor.targets.sandbox.isolation import isolation, warning
from arbor.targets.workspace import Workspace

POLL_S = 1.0
"""Longest wait before a process looks at the log again."""

REACTORS: dict[str, Callable[[], Reactor]] = {"orchestrator": Orchestrator, "critic": Critic}
"""Reactors that run in processes of their own."""


def place_for(directory: Path, target: Target, devices: tuple[str, ...] = ()) -> Place:
    """Return the place of a campaign's effects in this process."""
    where = CampaignDirectory(directory)
    workspace, blobs = Workspace(where.workspace), BlobStore(where.blobs)
    return Place(target, workspace, blobs, directory, devices=devices)


def _journal(log: EventLog, actor: str, directory: Path) -> Journal:
    return Journal(log, actor, SystemClock(), Snapshots.of_campaign(directory))


def _place_of(journal: Journal, directory: Path, devices: tuple[str, ...]) -> Place:
    started = journal.state.started
    if started is None:
        raise LogError(f"no CampaignStarted in {directory}; start with `arbor run`")
    target = create_target(started.target, json.loads(started.target_config))
    place = place_for(directory, target, devices)
    if started.settings.models is None:
        return place
    # imported where there are models alone
    from arbor.actors.model import create_model_maker  # noqa: PLC0415

    return place.with_models(create_model_maker(started.settings, place.blobs))


def _reader_for(journal: Journal) -> Reader:
    """Return what looks at the campaign's accelerators."""
    started = journal.state.started
    if started is None or started.hardware.num_devices == 0:
        return no_devices
    return reader_of(started.hardware.kind)


@contextmanager
def _life(say: FilteringBoundLogger) -> Iterator[None]:
    """Note the beginning and the end of a run, and what broke it."""
    say.info("run began", process_id=os.getpid())
    try:
        yield
    except BaseException:
        say.exception("run broke")
        raise
    say.info("run returned")


class ReactorProcess:
    """Runs a reactor until the campaign ends; its state is the log alone."""

    def __init__(self, name: str, directory: Path, log: EventLog) -> None:
        self._say = operations_log(directory, name)
        self._shell = ReactorShell(
            REACTORS[name](), log, SystemClock(), Snapshots.of_campaign(directory)
        )

    def process_id(self) -> int:
        """Return the process id."""
        return os.getpid()

    def run(self) -> None:
        """Fold, react, append, wait; return at the end of the campaign or when fenced."""
        with _life(self._say), suppress(FencedError):
            self._shell.start()
            while not self._shell.journal.state.is_ended:
                if self._shell.run_until_quiet() == 0:
                    self._shell.wait(POLL_S)
            self._say.info("ended", num_conflicts=self._shell.num_conflicts)


class BenchProcess:
    """Runs the bench until the campaign ends.

    Args:
        directory: the campaign's.
        log: the log as this process sees it.
        devices: accelerators of its seat, by name.
    """

    def __init__(self, directory: Path, log: EventLog, devices: tuple[str, ...] = ()) -> None:
        self._directory = directory
        self._log = log
        self._devices = devices

    def process_id(self) -> int:
        """Return the process id."""
        return os.getpid()

    def lay_ground(self, campaign: Campaign) -> Ground | ArborError:
        """Return what the campaign starts from on this machine, or why it cannot."""
        try:
            hardware = probe_hardware()
            require_ground(campaign, hardware)
            target = create_target(campaign.target, campaign.target_config)
            return lay_ground(
                place_for(self._directory, target, self._devices), campaign, hardware
            )
        except ArborError as error:
            return error

    def run(self) -> None:
        """Answer requests until the campaign ends, or this incarnation is fenced."""
        journal = _journal(self._log, Bench.name, self._directory)
        say = operations_log(self._directory, Bench.name)
        with _life(say), suppress(FencedError):
            journal.start(self._devices)
            place = _place_of(journal, self._directory, self._devices)
            bench, sentry = Bench(place, journal), Sentry(place, _reader_for(journal))
            try:
                while not journal.state.is_ended:
                    request = bench.next_request()
                    if reports := sentry.look(journal.state):
                        journal.append(*reports)
                    if request is None:
                        bench.make_way()
                        journal.wait(POLL_S)
                    else:
                        say.info("request", request_id=request.asked.request_id)
                        bench.perform(request)
            finally:
                bench.close()


class AdviserProcess:
    """Runs the adviser of a campaign with language models until the campaign ends.

    Args:
        directory: the campaign's.
        log: the log as this process sees it.
    """

    def __init__(self, directory: Path, log: EventLog) -> None:
        self._directory = directory
        self._log = log

    def process_id(self) -> int:
        """Return the process id."""
        return os.getpid()

    def run(self) -> None:
        """Ask what is to be asked until the campaign ends, or this incarnation is fenced."""
        journal = _journal(self._log, Adviser.name, self._directory)
        say = operations_log(self._directory, Adviser.name)
        with _life(say), suppress(FencedError):
            journal.start()
            place = _place_of(journal, self._directory, ())
            if place.create_model is None:
                return
            said = warning(isolation())
            adviser = Adviser(place, journal, place.create_model(journal), said)
            while not journal.state.is_ended:
                question = adviser.next_task()
                if question is None:
                    journal.wait(POLL_S)
                else:
                    question()


class SpecialistProcess:
    """A process in which specialists are built, one after the other.

    Args:
        directory: the campaign's.
        log: the log as this process sees it.
        where: its placement, for people.
        devices: accelerators of its own seat, by name.
        is_borrower: it has no seat of its own and uses the bench's devices in turn with it.
    """

    def __init__(
        self,
        directory: Path,
        log: EventLog,
        where: str,
        devices: tuple[str, ...] = (),
        *,
        is_borrower: bool = False,
    ) -> None:
        self._directory = directory
        self._log = log
        self._where = where
        self._devices = devices
        self._is_borrower = is_borrower

    def process_id(self) -> int:
        """Return the process id."""
        return os.getpid()

    def run(self, node_id: str) -> None:
        """Build the specialist of a node and let it do its work once."""
        journal = _journal(self._log, specialist_name(node_id), self._directory)
        board = DispatchBoard(journal.state)
        say = operations_log(self._directory, "specialists")
        with _life(say.bind(node_id=node_id)), suppress(FencedError):
            journal.start(self._devices)
            place = _place_of(journal, self._directory, self._seen_devices(journal))
            build_specialist(place, journal, board.get(node_id), self._where).perform()

    def _seen_devices(self, journal: Journal) -> tuple[str, ...]:
        """Return the devices to work on; a borrower's are what the bench announced last."""
        if not self._is_borrower:
            return self._devices
        devices = journal.state.workers.devices.get(Bench.name, ())
        show_devices(devices)
        return devices
