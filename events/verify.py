"""Proof that a log is whole: every byte, every position, every digest."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import compute, json
from pydantic_core import from_json

from arbor.events.codec import text_of
from arbor.events.encoding import PROMOTED, promoted
from arbor.events.errors import BusyError, CorruptLogError, LogError
from arbor.events.layout import Layout, names_in, read_sealed
from arbor.events.log import GENESIS_DIGEST, Head
from arbor.events.log_file import Commit, LogFile

_ATTEMPTS = 3
_DERIVED = pa.schema([(name, pa.string()) for name in ("kind", *PROMOTED)])
_DISAGREE = "columns, payload and log disagree"


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


def verify(directory: Path, anchors: Sequence[Head] = ()) -> VerifyReport:
    """Read a whole log and recompute everything that can be recomputed.

    A flipped bit breaks the seal of its file. An event that was changed with its seal breaks the
    digest of its commit. Whoever rewrites the whole chain is found out by an anchor only, and so
    is whoever removes the newest commits.

    Args:
        directory: the log directory.
        anchors: heads that were noted earlier, which the log must still contain.

    Raises:
        NotFoundError: there is no log here.
        InvalidInputError: the log has another format, or cannot be read.
        BusyError: files kept vanishing while they were read.
    """
    for _ in range(_ATTEMPTS):
        # A running writer may compact commits away between the listing and the reading.
        with suppress(FileNotFoundError):
            return _Verification(Layout(directory)).run(anchors)
    raise BusyError(f"files of {directory} keep vanishing: verify again when the campaign rests")


class _Verification:
    """State of one pass over a log."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._problems: list[Problem] = []
        self._num_files = 0
        self._campaign_id = ""
        self._epochs: set[int] = set()
        self._event_ids: list[pa.ChunkedArray] = []
        self._firsts: list[tuple[Path, int, int]] = []
        self._commits: dict[int, Commit] = {}
        self._digests = {0: GENESIS_DIGEST}
        self._times_us: dict[int, int] = {}
        self._head = Head(0, GENESIS_DIGEST)

    def run(self, anchors: Sequence[Head]) -> VerifyReport:
        self._check_format()
        self._check_epochs()
        self._check_empty()
        for path in self._paths():
            self._num_files += 1
            self._check_file(path)
        if not self._problems:
            self._check_end(anchors)
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
        for expected, epoch in enumerate(sorted(self._epochs), start=1):
            # Every writer claims the number after the newest one.
            if epoch != expected:
                self._report(self._layout.epochs / str(expected), 0, "is missing")
                break

    def _check_empty(self) -> None:
        """Check the files that only give raw readers their columns."""
        for path in (self._layout.tail_path(0), self._layout.segment_path(0, 0)):
            if path.name not in names_in(path.parent):
                self._report(path, 0, "is missing: raw readers need its columns")

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

    def _check_file(self, path: Path) -> None:
        """Check a file's seal; its place in the chain and its content, while all was well."""
        try:
            file = LogFile.load(path)
            # What hangs together beyond a problem is unknown.
            if not self._problems and self._is_in_place(file):
                self._check_content(file)
        except LogError as error:
            self._report(path, _position_of(path), error)

    def _is_in_place(self, file: LogFile) -> bool:
        """Report a file that does not continue the chain."""
        path, head = file.path, self._head.position
        if path not in {
            self._layout.tail_path(file.first),
            self._layout.segment_path(file.first, file.last),
        }:
            self._report(path, file.first, "holds other positions than its name says")
        elif file.first > head + 1:
            missing = f"positions {head + 1} to {file.first - 1} are missing"
            self._report(path, head + 1, missing)
        elif self._digests.get(max(file.first - 1, 0)) != file.extent.previous:
            self._report(path, file.first, "does not follow the commit before it")
        else:
            return True
        return False

    def _check_content(self, file: LogFile) -> None:
        table = file.table()
        for commit in file.commits(table):
            if self._commits.setdefault(commit.first, commit) != commit:
                self._report(file.path, commit.first, "differs from another copy of this commit")
            if commit.epoch not in self._epochs:
                self._report(file.path, commit.first, f"nobody claimed epoch {commit.epoch}")
            self._digests[commit.last] = commit.digest
        for position in _disagreements(table, file.first, self._campaign_id):
            self._report(file.path, position, _DISAGREE)
        self._check_times(file, table)
        if file.last > self._head.position:
            news = max(self._head.position + 1 - file.first, 0)
            self._event_ids.append(table.column("event_id").slice(news))
            self._firsts.append((file.path, file.first + news, file.last))
            self._head = Head(file.last, file.extent.digest)

    def _check_times(self, file: LogFile, table: pa.Table) -> None:
        """Check that the clock of the log never runs backwards."""
        times_us = table.column("recorded_at").cast(pa.int64()).to_numpy()
        if not times_us.size:
            return
        before_us = np.concatenate(([self._times_us.get(file.first - 1, times_us[0])], times_us))
        for at in np.flatnonzero(np.diff(before_us) < 0)[:1]:
            position = file.first + int(at)
            self._report(file.path, position, "was recorded before the event before it")
        self._times_us[file.last] = int(times_us[-1])

    def _check_end(self, anchors: Sequence[Head]) -> None:
        epochs = [commit.epoch for _, commit in sorted(self._commits.items())]
        if epochs != sorted(epochs):
            self._report(self._layout.epochs, 0, "a writer went on after its successor")
        for path, position in self._repeated():
            self._report(path, position, "the id of this event is that of an earlier one")
        for anchor in anchors:
            if self._digests.get(anchor.position) != anchor.digest:
                self._report(
                    self._layout.directory,
                    anchor.position,
                    "the chain does not pass through the anchor: the log was cut or rewritten",
                )

    def _repeated(self) -> Iterator[tuple[Path, int]]:
        """Yield where event ids come again."""
        chunks = [chunk for column in self._event_ids for chunk in column.chunks]
        ids = pa.chunked_array(chunks, pa.string())
        if compute.count_distinct(ids).as_py() == len(ids):
            return
        times: Counter[str] = Counter()
        position = 0
        for path, first, last in self._firsts:
            for event_id in ids.slice(position, last - first + 1).to_pylist():
                position += 1
                times[event_id] += 1
                if times[event_id] > 1:
                    yield path, position


def _disagreements(table: pa.Table, first: int, campaign_id: str) -> Iterator[int]:
    """Yield positions whose columns are not what payload and log say."""
    if table.num_rows == 0 or _all_agree(table, campaign_id):
        return
    names = ("kind", *PROMOTED, "campaign_id")
    columns = zip(*(table.column(name).to_pylist() for name in names), strict=True)
    payloads = table.column("payload").to_pylist()
    for position, (payload, row) in enumerate(zip(payloads, columns, strict=True), start=first):
        if (*_derived(payload), campaign_id) != row:
            yield position


def _all_agree(table: pa.Table, campaign_id: str) -> bool:
    """Return whether all rows agree; False also when Arrow cannot tell."""
    payload = table.column("payload").combine_chunks().cast(pa.large_string())
    line, nothing = (pa.scalar(each, pa.large_string()) for each in ("\n", ""))
    text, _ = text_of(compute.binary_join_element_wise(payload, line, nothing))
    options = json.ParseOptions(
        explicit_schema=_DERIVED, newlines_in_values=False, unexpected_field_behavior="ignore"
    )
    try:
        # One block, so that no line is cut.
        found = json.read_json(
            pa.BufferReader(text), json.ReadOptions(block_size=len(text) + 1), options
        )
    except pa.ArrowException:
        return False
    stated = table.select(_DERIVED.names)
    return bool(
        found.select(_DERIVED.names).equals(stated.cast(_DERIVED))
        and compute.all(compute.equal(table.column("campaign_id"), campaign_id)).as_py()
    )


def _derived(payload: str) -> tuple[str | None, ...]:
    """Return the kind and the promoted values of a payload; nothing when it is no object."""
    try:
        fields = from_json(payload)
        return (fields["kind"], *promoted(fields))
    except (ValueError, LookupError, TypeError, AttributeError):
        return ()


def _position_of(path: Path) -> int:
    digits = path.stem.split("-")[0]
    return int(digits) if digits.isdigit() else 0
