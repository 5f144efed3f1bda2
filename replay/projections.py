"""The log as SQL tables in DuckDB: one table of events, one typed view a kind, the tree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from types import TracebackType
from typing import Any, Literal, Self, get_args, get_origin

import duckdb
import pyarrow as pa
from pydantic import BaseModel

from arbor.events.base import Event
from arbor.events.codec import SCHEMA
from arbor.events.errors import InvalidInputError
from arbor.events.log_file import LogFile
from arbor.events.parquet_reader import ParquetReader
from arbor.events.union import AnyEvent

_SQL_TYPES: dict[object, str] = {
    str: "VARCHAR",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
}
_HEADER = ("position", "recorded_at", "actor", "decided_after", "decided_at")
_BATCH = "arbor_batch"
_FILES_AT_ONCE = 256

RAW_EVENTS = """
select distinct on (position) *
from read_parquet(['{log}/tail/*.parquet', '{log}/segments/*.parquet'], union_by_name = true)
order by position
"""
"""The same rows for any other DuckDB, straight from the files."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Answer to a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


class Projection:
    """A campaign in an in-memory database that catches up with the log on demand.

    Reads through the log's own reader, so that nothing is shown before it is durable, nothing
    twice, and a compaction meanwhile does not disturb. Queries cannot touch files or the network.

    Args:
        reader: log of the campaign.
    """

    def __init__(self, reader: ParquetReader) -> None:
        self._reader = reader
        self._connection = duckdb.connect(":memory:")
        self.position = 0
        empty = pa.Table.from_batches([], schema=SCHEMA)
        self._insert(empty, create=True)
        for statement in view_statements():
            self._connection.execute(statement)
        self._connection.execute(tree_statement())
        self._connection.execute("set timezone = 'UTC'")
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

    def catch_up(self) -> int:
        """Insert what is new, data and position together; return the number of rows.

        Raises:
            CorruptLogError: a file of the log is damaged.
        """
        num = 0
        found = self._reader.files(self.position)
        while batch := list(islice(found, _FILES_AT_ONCE)):
            num += self._insert_new(batch)
        return num

    def _insert_new(self, batch: Sequence[LogFile]) -> int:
        parts, position = [], self.position
        for file in batch:
            # A segment that appeared meanwhile may begin before what is here already.
            parts.append(file.table().slice(max(position + 1 - file.first, 0)))
            position = file.last
        rows = pa.concat_tables(parts, promote_options="default")
        self._insert(rows)
        self.position = position
        return int(rows.num_rows)

    def _insert(self, rows: pa.Table, *, create: bool = False) -> None:
        self._connection.register(_BATCH, rows)
        verb = "create table events as" if create else "insert into events by name"
        statement = f"{verb} select * from {_BATCH}"  # noqa: S608 - both are constants
        self._connection.execute(statement)
        self._connection.unregister(_BATCH)

    def query(self, text: str) -> Rows:
        """Return the answer to a query.

        Raises:
            InvalidInputError: the query is wrong, or wants more than reading.
        """
        try:
            cursor = self._connection.execute(text)
            columns = tuple(str(column[0]) for column in cursor.description or ())
            return Rows(columns, tuple(cursor.fetchall()))
        except duckdb.Error as error:
            line = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
            raise InvalidInputError(f"SQL: {line}") from error

    def close(self) -> None:
        """Free the database; closing twice is harmless."""
        self._connection.close()


def event_classes() -> tuple[type[Event], ...]:
    """Return the class of every event kind."""
    union = get_args(AnyEvent)[0]
    return tuple(sorted(get_args(union), key=lambda each: each.__name__))


def view_name(kind: str) -> str:
    """Return the name of a kind's view: ``ActionKept`` becomes ``action_kept``."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_")


def view_statements() -> Iterator[str]:
    """Yield the definition of every typed view."""
    for event_class in event_classes():
        kind = event_class.__name__
        columns = ", ".join([*_HEADER, *_columns(event_class)])
        body = f"select {columns} from events where kind = '{kind}'"  # noqa: S608 - our own names
        yield f"create view {view_name(kind)} as {body}"


def _columns(
    model: type[BaseModel], path: tuple[str, ...] = (), *, depth: int = 1
) -> Iterator[str]:
    """Yield one typed expression a field; values inside values become ``outer_inner``."""
    for name, info in model.model_fields.items():
        if name == "kind" and not path:
            continue
        inner = (*path, name)
        annotation = _plain(info.annotation)
        if depth and isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _columns(annotation, inner, depth=depth - 1)
            continue
        where = "$." + ".".join(f'"{part}"' for part in inner)
        alias = f'"{"_".join(inner)}"'
        sql_type = _sql_type(annotation)
        if sql_type == "JSON":
            yield f"json_extract(payload, '{where}') as {alias}"
        else:
            yield f"cast(json_extract_string(payload, '{where}') as {sql_type}) as {alias}"


def _plain(annotation: Any) -> Any:
    """Return an annotation without None."""
    present = [each for each in get_args(annotation) if each is not type(None)]
    if len(present) == 1 and type(None) in get_args(annotation):
        return present[0]
    return annotation


def _sql_type(annotation: Any) -> str:
    if get_origin(annotation) is Literal or (
        isinstance(annotation, type) and issubclass(annotation, str)
    ):
        return "VARCHAR"
    return _SQL_TYPES.get(annotation, "JSON")


def tree_statement() -> str:
    """Return the definition of view ``nodes``: the search tree, folded in SQL."""
    return (files("arbor.replay") / "tree.sql").read_text(encoding="utf-8")
