"""What a projection is: a table that is made of the log, by a query or by a fold."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from arbor.events.base import Recorded
from arbor.events.errors import InvalidInputError

_NAME = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class SqlProjection:
    """A query over typed event tables and other projections; it is always up to date.

    Attributes:
        name: name of its table.
        title: one line that says what it shows.
        sql: one ``select``.
        origin: where it comes from, for messages.
    """

    name: str
    title: str
    sql: str
    origin: str = "Arbor"

    @classmethod
    def from_file(cls, path: Path) -> "SqlProjection":
        """Read ``NAME.sql``; its first comment is the title.

        Raises:
            InvalidInputError: the file cannot be read, or its name is no name of a table.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"cannot read projection {path}: {error}") from error
        first = text.lstrip().splitlines()[0] if text.strip() else ""
        title = first.lstrip("- ") if first.startswith("--") else ""
        return cls(checked_name(path.stem, str(path)), title, text, str(path))


class PythonProjection(ABC):
    """A fold in Python; subclass it with a name, columns, ``apply`` and ``rows``.

    It is made anew without arguments and fed every event once, in order. Rows are read after a
    batch of events and replace those before, in the transaction that moves the position on.
    """

    name: ClassVar[str]
    """Name of its table."""
    columns: ClassVar[Mapping[str, str]]
    """Name to DuckDB type, in the order of ``rows``."""
    origin: ClassVar[str] = "Arbor"

    @abstractmethod
    def apply(self, recorded: Recorded) -> None:
        """Fold one event; no side effects."""

    @abstractmethod
    def rows(self) -> Iterable[tuple[object, ...]]:
        """Return the whole table as it is now."""

    @classmethod
    def title(cls) -> str:
        """Return one line that says what it shows: the first of its docstring."""
        return (cls.__doc__ or "").strip().split("\n", maxsplit=1)[0]


Projection = SqlProjection | type[PythonProjection]


def title_of(projection: Projection) -> str:
    """Return one line that says what a projection shows."""
    return projection.title if isinstance(projection, SqlProjection) else projection.title()


def checked_name(name: str, origin: str) -> str:
    """Return the name of a table.

    Raises:
        InvalidInputError: it is none.
    """
    if _NAME.fullmatch(name) is None:
        raise InvalidInputError(
            f"{origin}: {name!r} is no name of a table: use small letters, digits and underscores"
        )
    return name
