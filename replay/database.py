"""A campaign as a DuckDB database: events, one typed view a kind, projections."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa
from pyarrow import compute

from arbor.events.codec import SCHEMA
from arbor.events.errors import InvalidInputError
from arbor.replay.projections import SHIPPED
from arbor.replay.projections.base import Projection, PythonProjection, SqlProjection
from arbor.replay.source import File, Source
from arbor.replay.typed_views import view_statements

_BATCH = "arbor_batch"
_FILES_AT_ONCE = 256
_FEW_ROWS = 8
_HEAD = """
create or replace view head as
select greatest({sealed}, coalesce(max(position), 0)) as position from tail
"""
"""The position is read off the data, so that they cannot disagree."""
_SEGMENTS = "segments"
"""Folder of a log whose files are never rewritten."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Answer to a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


class CampaignDatabase:
    """A campaign in an in-memory database that catches up with the log on demand.

    Finds files through the log's own reader, so that nothing is shown before it is durable,
    nothing twice, and every seal is checked. Segments stay where they are and are scanned by
    queries, the tail is copied into memory. Events, the position (view ``head``) and the tables
    that Python folds change in one transaction. Queries can only read. A Python projection is
    folded when a query first names it.

    Args:
        source: log of the campaign.
        projections: tables beside the typed events, each after those that it uses.

    Raises:
        InvalidInputError: a projection is wrong.
        CorruptLogError: a file of the log is damaged.
    """

    def __init__(self, source: Source, projections: Sequence[Projection] = SHIPPED) -> None:
        self._source = source
        self._connection = duckdb.connect(":memory:")
        self.position = 0
        self._projections = {projection.name: projection for projection in projections}
        self._folds: dict[str, PythonProjection] = {}
        self._connection.execute("set timezone = 'UTC'")
        self._connection.execute("set parquet_metadata_cache = true")
        self._create(projections)
        self._take_in_segments()
        self._connection.execute("set enable_external_access = false")
        self._connection.execute("set lock_configuration = true")
        self.catch_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _create(self, projections: Sequence[Projection]) -> None:
        empty = pa.Table.from_batches([], schema=SCHEMA)
        self._insert("create table tail as select * from", empty)
        self._connection.execute("create view events as select * from tail")
        self._connection.execute(_HEAD.format(sealed=0))
        for statement in view_statements():
            self._connection.execute(statement)
        # Queries may use tables that Python folds, never the other way round.
        for projection in sorted(projections, key=lambda p: isinstance(p, SqlProjection)):
            try:
                self._connection.execute(_definition(projection))
            except duckdb.Error as error:
                raise InvalidInputError(
                    f"projection {projection.name} ({projection.origin}): {_first_line(error)}"
                ) from error

    def _take_in_segments(self) -> None:
        """Let ``events`` scan the segments that the log has now; a later one is copied."""
        paths = []
        for file in self._source.files():
            if file.path.parent.name != _SEGMENTS or file.first != self.position + 1:
                break
            paths.append(str(file.path.resolve()))
            self.position = file.last
        if not paths:
            return
        listed = ", ".join(f"'{_quoted(path)}'" for path in paths)
        scan = f"read_parquet([{listed}], union_by_name = true)"
        columns = ", ".join(SCHEMA.names)
        with self._transaction():
            self._connection.execute(
                f"create or replace view events as select {columns} from {scan}"  # noqa: S608
                f" union all by name select {columns} from tail"
            )
            self._connection.execute(_HEAD.format(sealed=self.position))
        self._connection.execute(f"set allowed_paths = [{listed}]")

    def catch_up(self) -> int:
        """Take in what is new, all of it or nothing; return the number of events.

        Raises:
            CorruptLogError: a file of the log is damaged.
        """
        found = self._source.files(self.position)
        num = 0
        while batch := list(islice(found, _FILES_AT_ONCE)):
            num += self._take_in(batch)
        return num

    def _take_in(self, files: Sequence[File]) -> int:
        rows = pa.concat_tables([file.table() for file in files], promote_options="default")
        if files[0].first <= self.position or any(
            after.first <= before.last for before, after in pairwise(files)
        ):
            rows = _once(rows, self.position)
        last = files[-1].last
        with self._transaction():
            self._insert_rows(rows)
            for name, fold in self._folds.items():
                self._apply(fold, files, self.position)
                self._store(name, fold)
        self.position = last
        return int(rows.num_rows)

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._connection, self._folds)

    def _insert_rows(self, rows: pa.Table) -> None:
        if rows.num_rows > _FEW_ROWS or rows.schema.names != SCHEMA.names:
            self._insert("insert into tail by name select * from", rows)
            return
        # A follower takes in single events: planning a scan of a table takes longer than that.
        marks = ", ".join("?" for _ in SCHEMA.names)
        values = [list(row.values()) for row in rows.to_pylist()]
        self._connection.executemany(f"insert into tail values ({marks})", values)  # noqa: S608

    def _insert(self, statement: str, rows: pa.Table) -> None:
        self._connection.register(_BATCH, rows)
        self._connection.execute(f"{statement} {_BATCH}")
        self._connection.unregister(_BATCH)

    def _apply(self, fold: PythonProjection, files: Sequence[File], after: int) -> None:
        for file in files:
            for recorded in file.events(after):
                fold.apply(recorded)
            after = file.last

    def _store(self, name: str, fold: PythonProjection) -> None:
        rows = list(fold.rows())
        self._connection.execute(f"delete from {name}")  # noqa: S608 - a checked name
        if rows:
            marks = ", ".join("?" for _ in fold.columns)
            insert = f"insert into {name} values ({marks})"  # noqa: S608 - a checked name
            self._connection.executemany(insert, [list(row) for row in rows])

    def query(self, text: str) -> Rows:
        """Return the answer to a query.

        Raises:
            InvalidInputError: the query is wrong, or wants more than reading.
        """
        with _one_line():
            self._prepare(text)
            cursor = self._connection.execute(text)
            columns = tuple(str(column[0]) for column in cursor.description or ())
            return Rows(columns, tuple(cursor.fetchall()))

    def arrow(self, text: str) -> pa.Table:
        """Return the answer to a query with its types.

        Raises:
            InvalidInputError: the query is wrong, or wants more than reading.
        """
        with _one_line():
            self._prepare(text)
            return self._connection.sql(text).to_arrow_table()

    def _prepare(self, text: str) -> None:
        """Check that a query only reads, and fold what it needs."""
        statements = self._connection.extract_statements(text)
        if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
            raise InvalidInputError(f"SQL: give one query that reads, not {text.strip()!r}")
        for name in self._named(text):
            self._activate(name)

    def _named(self, text: str) -> list[str]:
        """Return the Python projections that a query, or a query that it uses, names."""
        found: set[str] = set()
        waiting = [text]
        while waiting:
            words = set(re.findall(r"[a-z_][a-z0-9_]*", waiting.pop().lower()))
            for name in sorted((words & self._projections.keys()) - found):
                found.add(name)
                projection = self._projections[name]
                if isinstance(projection, SqlProjection):
                    waiting.append(projection.sql)
        return [name for name in sorted(found) if name not in self._folds and self._is_fold(name)]

    def _is_fold(self, name: str) -> bool:
        return not isinstance(self._projections[name], SqlProjection)

    def _activate(self, name: str) -> None:
        """Fold a Python projection up to the position of the events."""
        projection = self._projections[name]
        if isinstance(projection, SqlProjection):
            return
        fold = projection()
        after = 0
        for file in self._source.files(0):
            for recorded in file.events(after):
                if recorded.position > self.position:
                    break
                fold.apply(recorded)
            after = file.last
            if after >= self.position:
                break
        with self._transaction():
            self._store(name, fold)
        self._folds[name] = fold

    def close(self) -> None:
        """Free the database; closing twice is harmless."""
        self._connection.close()


class _Transaction:
    """All or nothing; what Python folded on the way to nothing is thrown away."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, folds: dict[str, PythonProjection]
    ) -> None:
        self._connection = connection
        self._folds = folds

    def __enter__(self) -> None:
        self._connection.begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._connection.commit()
        else:
            self._connection.rollback()
            self._folds.clear()


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn what DuckDB says about a query into one line."""
    try:
        yield
    except duckdb.Error as error:
        raise InvalidInputError(f"SQL: {_first_line(error)}") from error


def _once(rows: pa.Table, after: int) -> pa.Table:
    """Return the rows beyond a position, each position once: files may overlap."""
    rows = rows.filter(compute.greater(rows["position"], after))
    firsts = rows.append_column("row", pa.array(range(rows.num_rows)))
    firsts = firsts.group_by("position").aggregate([("row", "min")])
    return rows.take(firsts["row_min"].combine_chunks().sort())


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _definition(projection: Projection) -> str:
    if isinstance(projection, SqlProjection):
        return f"create view {projection.name} as {projection.sql.strip().rstrip(';')}"
    columns = ", ".join(f'"{name}" {kind}' for name, kind in projection.columns.items())
    return f"create table {projection.name} ({columns})"


def _first_line(error: duckdb.Error) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
