"""Proof that a log is whole: every byte, every position, every digest."""

import json
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from arbor.events.base import canonical_json
from arbor.events.codec import PROMOTED, Commit, is_sealed, promoted
from arbor.events.errors import BusyError, CorruptLogError, LogError
from arbor.events.layout import Layout, names_in, read_sealed
from arbor.events.ledger import Entry
from arbor.events.log import GENESIS_DIGEST, Head
from arbor.events.log_file import LogFile

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a log.

    Attributes:
        file: the file that shows it.
        position: first position that is affected; 0 when it is no event.
        text: what is wrong, in one line.
    """

    file: Path
    position: int
    text: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What ``verify`` saw.

    Attributes:
        num_events: events that hang together, from the first on.
        num_commits: commits that hang together.
        num_files: files that were read.
        head: end of what hangs together; keep it elsewhere to detect a rewritten log later.
        problems: everything that is wrong, in the order of the log.
    """

    num_events: int
    num_commits: int
    num_files: int
    head: Head
    problems: tuple[Problem, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(directory: Path, anchor: Head | None = None) -> VerifyReport:
    """Read a whole log and recompute everything that can be recomputed.

    A flipped bit breaks the seal of its file. An event that was changed with its seal breaks the
    digest of its commit. Whoever rewrites the whole chain is found out by an anchor only, and so
    is whoever removes the newest commits.

    Args:
        directory: the log directory.
        anchor: a head that was noted earlier, which the log must still contain.

    Raises:
        NotFoundError: there is no log here.
        InvalidInputError: the log has another format, or cannot be read.
        BusyError: files kept vanishing while they were read.
    """
    for _ in range(_ATTEMPTS):
        # A running writer may compact commits away between the listing and the reading.
        with suppress(FileNotFoundError):
            return _Verification(Layout(directory)).run(anchor)
    raise BusyError(f"files of {directory} keep vanishing: verify again when the campaign rests")


class _Verification:
    """State of one pass over a log."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._problems: list[Problem] = []
        self._num_files = 0
        self._campaign_id = ""
        self._epochs: set[int] = set()
        self._event_ids: dict[str, int] = {}
        self._commits: dict[int, Commit] = {}
        self._digests = {0: GENESIS_DIGEST}
        self._head = Head(0, GENESIS_DIGEST)

    def run(self, anchor: Head | None) -> VerifyReport:
        self._check_format()
        self._check_epochs()
        paths = self._paths()
        self._check_seals(paths)
        # What hangs together is unknown while files are damaged.
        if not self._problems and all(self._check_file(path) for path in paths):
            self._check_end(anchor)
        return VerifyReport(
            num_events=self._head.position,
            num_commits=len(self._commits),
            num_files=self._num_files,
            head=self._head,
            problems=tuple(self._problems),
        )

    def _report(self, file: Path, position: int, what: LogError | str) -> None:
        text = f"{file}: {what}" if isinstance(what, str) else str(what)
        self._problems.append(Problem(file, position, text))

    def _check_format(self) -> None:
        self._num_files += 1
        try:
            self._campaign_id = self._layout.campaign_id()
        except CorruptLogError as error:
            self._report(self._layout.format, 0, error)

    def _check_epochs(self) -> None:
        for name in sorted(filter(str.isdigit, names_in(self._layout.epochs)), key=int):
            path = self._layout.epochs / name
            self._num_files += 1
            self._epochs.add(int(name))
            try:
                if read_sealed(path).get("epoch") != int(name):
                    self._report(path, 0, "claims another epoch than its name says")
            except CorruptLogError as error:
                self._report(path, 0, error)

    def _paths(self) -> list[Path]:
        """Return the files with events in the order of their first positions."""
        # The tail first: a commit leaves it only after its segment appeared.
        folders = (self._layout.tail, self._layout.segments)
        return sorted(
            (
                folder / name
                for folder in folders
                for name in names_in(folder)
                if name.endswith(".parquet")
            ),
            key=_position_of,
        )

    def _check_seals(self, paths: list[Path]) -> None:
        for path in paths:
            self._num_files += 1
            try:
                if not is_sealed(path.read_bytes()):
                    self._report(path, _position_of(path), "its bytes do not match its seal")
            except FileNotFoundError:
                raise
            except OSError as error:
                self._report(path, _position_of(path), f"cannot be read ({error.strerror})")

    def _check_file(self, path: Path) -> bool:
        """Check that a file continues the chain, and its content; return whether it does."""
        num_before = len(self._problems)
        try:
            file = LogFile.load(path)
            if path not in {
                self._layout.tail_path(file.first),
                self._layout.segment_path(file.first, file.last),
            }:
                self._report(path, file.first, "holds other positions than its name says")
            elif file.first > self._head.position + 1:
                missing = f"positions {self._head.position + 1} to {file.first - 1} are missing"
                self._report(path, self._head.position + 1, missing)
            elif self._digests.get(max(file.first - 1, 0)) != file.previous:
                self._report(path, file.first, "does not follow the commit before it")
            else:
                self._check_commits(file)
        except LogError as error:
            self._report(path, _position_of(path), error)
        return len(self._problems) == num_before

    def _check_commits(self, file: LogFile) -> None:
        columns = iter(file.table(["kind", *PROMOTED]).to_pylist())
        for commit, entries in file.checked():
            if self._commits.setdefault(commit.first, commit) != commit:
                self._report(file.path, commit.first, "differs from another copy of this commit")
            if commit.epoch not in self._epochs:
                self._report(file.path, commit.first, f"nobody claimed epoch {commit.epoch}")
            for entry, row in zip(entries, islice(columns, len(entries)), strict=True):
                if not self._agrees(entry, row, commit):
                    position = entry.recorded.position
                    self._report(file.path, position, "columns, payload and log disagree")
            self._digests[commit.last] = commit.digest
        if file.last > self._head.position:
            self._head = Head(file.last, file.digest)

    def _agrees(self, entry: Entry, row: dict[str, str | None], commit: Commit) -> bool:
        recorded = entry.recorded
        fields = json.loads(entry.payload)
        first = self._event_ids.setdefault(recorded.event_id, recorded.position)
        return (
            recorded.campaign_id == self._campaign_id
            and recorded.epoch == commit.epoch
            and list(row.values()) == [fields["kind"], *promoted(fields)]
            and canonical_json(fields) == entry.payload
            and first == recorded.position
        )

    def _check_end(self, anchor: Head | None) -> None:
        epochs = [commit.epoch for _, commit in sorted(self._commits.items())]
        if epochs != sorted(epochs):
            self._report(self._layout.epochs, 0, "a writer went on after its successor")
        if anchor is not None and self._digests.get(anchor.position) != anchor.digest:
            self._report(
                self._layout.directory,
                anchor.position,
                "the chain does not pass through the anchor: the log was cut or rewritten",
            )


def _position_of(path: Path) -> int:
    digits = path.stem.split("-")[0]
    return int(digits) if digits.isdigit() else 0
