"""Kills and pauses of the keeper and of actors under load, and what the log must still say."""

import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arbor.events.base import Recorded
from arbor.events.errors import NotFoundError
from arbor.events.life import IncarnationStarted, LeaseReleased, LeaseTaken
from arbor.events.parquet_reader import ParquetReader
from arbor.events.verify import verify
from arbor.events.work import TrialMeasured
from tests.chaos.zygote import Zygote

NUM_ACTORS = 6
MEAN_LIFE_S = 0.06
"""Mean time between two disturbances, from the first progress after the last one."""
PAUSE_S = 0.3
KEEPER_SHARE = 0.4
"""Share of the disturbances that hit the keeper."""
PROGRESS_LIMIT_S = 60.0


@dataclass
class Storm:
    """What was done to a log's processes, and what is wrong afterwards.

    Attributes:
        num_done: disturbances by their kind.
        num_events: events in the log.
        num_acknowledged: events that an actor was told were stored.
        num_epochs: writers that the log has seen.
        seconds: how long it took.
        problems: everything that should not be, in words.
    """

    num_done: Counter[str] = field(default_factory=Counter)
    num_events: int = 0
    num_acknowledged: int = 0
    num_epochs: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


class _Weather:
    """The processes of one storm."""

    def __init__(self, directory: Path, sockets: Path, zygote: Zygote) -> None:
        self.log = directory / "log"
        self._notes = directory / "notes"
        self._notes.mkdir()
        self._sockets = sockets
        self._zygote = zygote
        self._keeper = self._start_keeper()
        self._actors = {f"actor-{n}": 0 for n in range(NUM_ACTORS)}
        for name in self._actors:
            self._start_actor(name)

    def _start_keeper(self) -> int:
        return self._zygote.start("keeper", str(self.log), str(self._sockets))

    def _start_actor(self, name: str) -> None:
        arguments = (name, str(self.log), str(self._sockets), str(self._notes / name))
        self._actors[name] = self._zygote.start("actor", *arguments)

    def progress(self) -> int:
        """Return a number that grows with every acknowledged append."""
        return sum(path.stat().st_size for path in self._notes.iterdir())

    def kill_keeper(self) -> None:
        self._zygote.kill(self._keeper)
        self._keeper = self._start_keeper()

    def kill_actor(self, name: str) -> None:
        self._zygote.kill(self._actors[name])
        self._start_actor(name)

    def pause_keeper(self) -> None:
        """Stop the keeper, let a successor work, and let the old one wake."""
        old = self._keeper
        os.kill(old, signal.SIGSTOP)
        self._keeper = self._start_keeper()
        time.sleep(PAUSE_S)
        os.kill(old, signal.SIGCONT)

    def pause_actor(self, name: str) -> None:
        """Stop an actor, let its next incarnation work, and let the old one wake."""
        old = self._actors[name]
        os.kill(old, signal.SIGSTOP)
        self._start_actor(name)
        time.sleep(PAUSE_S)
        os.kill(old, signal.SIGCONT)

    def acknowledged(self) -> Iterator[tuple[str, int]]:
        """Yield ids and positions of everything that was acknowledged."""
        for path in self._notes.iterdir():
            for line in path.read_text().splitlines():
                event_id, position = line.split()
                yield event_id, int(position)

    def disturb(self, chance: random.Random, storm: Storm, *, is_pause: bool) -> None:
        """Kill or pause somebody."""
        name = chance.choice(sorted(self._actors))
        if chance.random() < KEEPER_SHARE:
            if is_pause:
                self.pause_keeper()
            else:
                self.kill_keeper()
            storm.num_done["paused keeper" if is_pause else "killed keeper"] += 1
        else:
            if is_pause:
                self.pause_actor(name)
            else:
                self.kill_actor(name)
            storm.num_done["paused actor" if is_pause else "killed actor"] += 1


class _Follower(threading.Thread):
    """Reads along all the time, and keeps what it saw."""

    def __init__(self, log: Path) -> None:
        super().__init__(daemon=True)
        self._log = log
        self.seen: list[str] = []
        self.problem = ""
        self.is_over = threading.Event()

    def run(self) -> None:
        try:
            self._follow()
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the report
            self.problem = f"a follower broke: {type(error).__name__}: {error}"

    def _follow(self) -> None:
        reader: ParquetReader | None = None
        while not self.is_over.wait(0.005):
            try:
                reader = reader or ParquetReader(self._log)
            except NotFoundError:
                continue
            for recorded in reader.read(len(self.seen)):
                if recorded.position != len(self.seen) + 1:
                    self.problem = f"a follower saw {recorded.position} after {len(self.seen)}"
                    return
                self.seen.append(recorded.event_id)


def run_storm(directory: Path, num_kills: int, num_pauses: int, seed: int = 1) -> Storm:
    """Kill and pause processes under load, then check the log.

    Args:
        directory: an empty folder.
        num_kills: SIGKILLs.
        num_pauses: SIGSTOPs that end after a successor has worked.
        seed: of the order of things.
    """
    chance = random.Random(seed)
    storm = Storm()
    begun = time.monotonic()
    is_pause = [True] * num_pauses + [False] * num_kills
    chance.shuffle(is_pause)
    follower = _Follower(directory / "log")
    follower.start()
    # Socket names are short by law.
    with tempfile.TemporaryDirectory() as sockets, Zygote(directory / "stderr") as zygote:
        weather = _Weather(directory, Path(sockets), zygote)
        for each in is_pause:
            if not _progresses(weather):
                storm.problems.append(f"nothing was appended for {PROGRESS_LIMIT_S:.0f} s")
                break
            time.sleep(chance.expovariate(1.0 / MEAN_LIFE_S))
            weather.disturb(chance, storm, is_pause=each)
        _progresses(weather)
    time.sleep(0.1)
    follower.is_over.set()
    follower.join()
    storm.seconds = time.monotonic() - begun
    # A fenced writer may warn that it compacts no more; nobody may break.
    if "Traceback" in (said := (directory / "stderr").read_text()):
        storm.problems.append(f"a process broke: {said.strip().splitlines()[-1]}")
    if follower.problem:
        storm.problems.append(follower.problem)
    _judge(storm, weather, follower.seen)
    return storm


def _progresses(weather: _Weather) -> bool:
    """Wait until something was acknowledged; return whether it was."""
    before = weather.progress()
    deadline = time.monotonic() + PROGRESS_LIMIT_S
    while weather.progress() == before:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def _judge(storm: Storm, weather: _Weather, seen: Sequence[str]) -> None:
    """Check everything that must hold whatever was killed."""
    report = verify(weather.log)
    storm.problems += [problem.text for problem in report.problems]
    events = list(ParquetReader(weather.log).read())
    storm.num_events = len(events)
    storm.num_epochs = max((each.epoch for each in events), default=0)
    storm.problems += gaps(events)
    ids = [each.event_id for each in events]
    for event_id, position in weather.acknowledged():
        storm.num_acknowledged += 1
        if ids[position - 1 : position] != [event_id]:
            storm.problems.append(f"acknowledged event {event_id} is not at position {position}")
    if list(seen) != ids[: len(seen)]:
        storm.problems.append("a follower saw what the log does not say")
    storm.problems += doubles(events)
    storm.problems += overlaps(events)


def gaps(events: Sequence[Recorded]) -> list[str]:
    """Return what is wrong with positions, ids and epochs."""
    found = []
    if [each.position for each in events] != list(range(1, len(events) + 1)):
        found.append("positions have gaps")
    if len({each.event_id for each in events}) != len(events):
        found.append("an event is stored twice")
    epochs = [each.epoch for each in events]
    if epochs != sorted(epochs):
        found.append("a writer went on after its successor")
    return found


def doubles(events: Sequence[Recorded]) -> list[str]:
    """Return actors whose numbers do not run 1, 2, 3: something was lost or done twice."""
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    latest: Counter[str] = Counter()
    found = []
    for each in events:
        if isinstance(each.event, IncarnationStarted):
            latest[each.actor] = max(latest[each.actor], each.incarnation)
        elif each.incarnation < latest[each.actor]:
            found.append(f"{each.actor} went on after its successor at {each.position}")
        if isinstance(each.event, TrialMeasured):
            numbers[each.actor].append(each.event.trial)
    found += [
        f"{actor} counted {counted[:3]}..."
        for actor, counted in numbers.items()
        if counted != list(range(1, len(counted) + 1))
    ]
    return found


def overlaps(events: Sequence[Recorded]) -> list[str]:
    """Return positions at which a host was taken that somebody else held alone."""
    holder: tuple[str, str] | None = None
    found = []
    for each in events:
        match each.event:
            case LeaseTaken():
                if holder is not None:
                    found.append(f"the host was taken twice at {each.position}")
                holder = (each.event.lease_id, each.actor)
            case LeaseReleased() if holder and holder[0] == each.event.lease_id:
                holder = None
            case IncarnationStarted() if holder and holder[1] == each.actor:
                holder = None
            case _:
                pass
    return found
