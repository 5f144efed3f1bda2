"""Damage to the files of a log, one at a time: each must be reported, and gone with its repair."""

import random
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from errno import EIO
from pathlib import Path

from arbor.events.base import Draft
from arbor.events.errors import ArborError, LogError, StorageFullError
from arbor.events.ids import uuid7
from arbor.events.layout import Layout
from arbor.events.ledger import utc_now
from arbor.events.life import HealthReported
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader
from arbor.events.verify import verify
from tests.events.failing_syscalls import fail_in_this_thread

CAMPAIGN = "chaos"


@dataclass
class Trial:
    """What was done to the files of a log.

    Attributes:
        num_done: how often.
        num_reported: how often somebody was told, by one line that names the file.
        problems: everything that should not be, in words.
        skipped: why it could not be tried here; empty when it was.
    """

    num_done: int = 0
    num_reported: int = 0
    problems: list[str] = field(default_factory=list)
    skipped: str = ""


def draft(text: str) -> Draft:
    """Return a small event."""
    event = HealthReported(subject="disk", is_healthy=True, detail=text)
    return Draft(event, uuid7(utc_now()), "chaos")


def make(directory: Path, num_commits: int) -> list[str]:
    """Write a log, half of it compacted; return the ids in order."""
    with closing(ParquetLog.open(directory, CAMPAIGN, grace_s=0)) as log:
        for number in range(num_commits):
            log.append([draft(str(number)), draft("x" * number)])
            if number == num_commits // 2:
                log.compact()
        return [each.event_id for each in log.read()]


def torn_tails(directory: Path, num: int, seed: int = 1) -> Trial:
    """Cut the newest commit short, or fill part of it with zeros, as a lying disk does."""
    chance = random.Random(seed)
    ids = make(directory, 12)
    layout = Layout(directory)
    path = layout.tail_path(layout.tails()[-1])
    whole = path.read_bytes()

    def damage() -> None:
        at = chance.randrange(len(whole))
        torn = whole[:at]
        path.write_bytes(torn if chance.random() < 0.5 else torn + bytes(len(whole) - at))

    return _try(directory, ids, damage, lambda: path.write_bytes(whole), path, num=num)


def bit_flips(directory: Path, num: int, seed: int = 1) -> Trial:
    """Flip one bit anywhere in the log."""
    chance = random.Random(seed)
    ids = make(directory, 12)
    paths = sorted(each for each in directory.rglob("*") if each.is_file())
    trial = Trial()
    for _ in range(num):
        path = chance.choice(paths)
        whole = path.read_bytes()
        flipped = bytearray(whole)
        at = chance.randrange(len(whole))
        flipped[at] ^= 1 << chance.randrange(8)

        def damage(path: Path = path, data: bytes = bytes(flipped)) -> None:
            path.write_bytes(data)

        def repair(path: Path = path, data: bytes = whole) -> None:
            path.write_bytes(data)

        # Old epochs and the empty files are read by `verify` alone.
        is_read = path.parent.name in {"tail", "segments"} and not path.stem.startswith("0" * 20)
        one = _try(directory, ids, damage, repair, path, opens=is_read)
        trial.num_done += one.num_done
        trial.num_reported += one.num_reported
        trial.problems += one.problems
    return trial


def _try(
    directory: Path,
    ids: list[str],
    damage: Callable[[], object],
    repair: Callable[[], object],
    path: Path,
    *,
    num: int = 1,
    opens: bool = True,
) -> Trial:
    """Damage a file, ask everybody, repair it, and ask again."""
    trial = Trial()
    for _ in range(num):
        damage()
        trial.num_done += 1
        reports = _verified(directory)
        if opens:
            reports += _refusal(lambda: list(ParquetReader(directory).read()))
            reports += _refusal(lambda: ParquetLog.open(directory, CAMPAIGN).close())
        expected = 3 if opens else 1
        if len(reports) < expected or not all(path.name in report for report in reports):
            trial.problems.append(f"damage to {path} was reported as {reports}")
        else:
            trial.num_reported += 1
        repair()
        if _verified(directory) or [r.event_id for r in ParquetReader(directory).read()] != ids:
            trial.problems.append(f"the repaired {path} is not what it was")
    return trial


def _verified(directory: Path) -> list[str]:
    """Return what verification says; a damaged `format.json` is no log any more."""
    try:
        return [problem.text for problem in verify(directory).problems]
    except ArborError as error:
        return [str(error)]


def _refusal(use: Callable[[], object]) -> list[str]:
    try:
        use()
    except ArborError as error:
        return [str(error)]
    return []


def full_disk(disk: Path, num: int) -> Trial:
    """Fill a small disk under load, free it, and go on.

    Args:
        disk: an empty folder; a small file system is mounted there.
        num: how often.
    """
    trial = Trial()
    with _small_disk(disk) as is_mounted:
        if not is_mounted:
            return Trial(skipped="mounting a small file system needs root")
        acknowledged: list[str] = []
        with closing(ParquetLog.open(disk / "log", CAMPAIGN, compact_after=1 << 30)) as log:
            for _ in range(num):
                _fill_until_refused(log, disk / "ballast", acknowledged, trial)
                (disk / "ballast").unlink(missing_ok=True)
                acknowledged += _appended(log, draft("after"))
        ids = [each.event_id for each in ParquetReader(disk / "log").read()]
        if ids != acknowledged:
            trial.problems.append("what was acknowledged is not what the log holds")
        trial.problems += [problem.text for problem in verify(disk / "log").problems]
    return trial


def _appended(log: ParquetLog, sent: Draft) -> list[str]:
    log.append([sent])
    return [sent.event_id]


def _fill_until_refused(
    log: ParquetLog, ballast: Path, acknowledged: list[str], trial: Trial
) -> None:
    trial.num_done += 1
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            # Room for some more events, so that one of them is the one that meets the end.
            file.truncate(max(0, file.tell() - 3 * 16_384))
    try:
        while True:
            acknowledged += _appended(log, draft("x" * 2000))
    except StorageFullError:
        trial.num_reported += 1


@contextmanager
def _small_disk(path: Path) -> Iterator[bool]:
    path.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def _load(log: ParquetLog, *, fails: bool) -> tuple[set[str], str]:
    """Append until refused; return what was acknowledged, and the refusal."""
    if fails:
        fail_in_this_thread("fsync", EIO)
    acknowledged: set[str] = set()
    while True:
        sent = draft("sync")
        try:
            log.append([sent])
        except LogError as error:
            return acknowledged, str(error)
        acknowledged.add(sent.event_id)


def failed_syncs(directory: Path, num: int) -> Trial:
    """Let fsync fail for a writer with several appends on their way; open again."""
    trial = Trial()
    acknowledged: set[str] = set()
    for _ in range(num):
        with closing(ParquetLog.open(directory, CAMPAIGN)) as log, ThreadPoolExecutor(3) as pool:
            # Whoever leads syncs for all, so the bad thread goes on until it leads.
            loads = [pool.submit(_load, log, fails=fails) for fails in (False, True, False)]
            for load in loads:
                stored, refusal = load.result()
                acknowledged |= stored
                if "takes no more events" not in refusal:
                    trial.problems.append(f"after a failed fsync somebody was told {refusal!r}")
        trial.num_done += 1
        trial.num_reported += not trial.problems
    stored = {each.event_id for each in ParquetReader(directory).read()}
    if not acknowledged <= stored:
        trial.problems.append(f"{len(acknowledged - stored)} acknowledged events are lost")
    trial.problems += [problem.text for problem in verify(directory).problems]
    return trial
