"""`arbor sql` and `arbor projections`: questions to the log, also while the campaign runs."""

import csv
import io
import json
import sys
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.table import Table
from rich.text import Text

from arbor.cli.console import people, say, show_table
from arbor.cli.text import one_line
from arbor.events.errors import InvalidInputError
from arbor.replay.database import CampaignDatabase, Rows
from arbor.replay.projections.base import title_of
from arbor.replay.projections.finding import all_projections
from arbor.replay.reading import open_campaign

Named = Annotated[
    list[str] | None,
    typer.Option(
        "--projection",
        metavar="FILE|MODULE",
        help="Your own: NAME.sql, FILE.py or a module; repeatable.",
    ),
]


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def sql(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    query: Annotated[
        str, typer.Argument(help="SQL over `events`, one view a kind and projections.")
    ],
    form: Annotated[
        Format | None,
        typer.Option("--format", help="How to write the answer; the ending of --out decides."),
    ] = None,
    projection: Named = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the answer to a file.")
    ] = None,
) -> None:
    """Run a SQL query (DuckDB) over the event log; `show tables` lists what there is."""
    chosen = form or _by_ending(out)
    if chosen is Format.TABLE and out is not None:
        raise InvalidInputError("a table is for people: give --format csv, json or parquet")
    if chosen is Format.PARQUET and out is None and sys.stdout.isatty():
        raise InvalidInputError("Parquet is no text: give --out FILE.parquet")
    recording = open_campaign(directory)
    with CampaignDatabase(recording.reader, all_projections(projection or ())) as database:
        if chosen is Format.PARQUET:
            _write_bytes(out, _as_parquet(database.arrow(query)))
            return
        rows = database.query(query)
    if chosen is Format.TABLE:
        _show(rows)
        return
    text = _as_csv(rows) if chosen is Format.CSV else _as_json(rows) + "\n"
    if out is None:
        say(text)
    else:
        _write_bytes(out, text.encode())


def projections(projection: Named = None) -> None:
    """List the tables that are made of the log beside the typed events."""
    found = all_projections(projection or ())
    rows = [(each.name, title_of(each), each.origin) for each in found]
    _show(Rows(("name", "what it shows", "from"), tuple(rows)))


def _by_ending(out: Path | None) -> Format:
    """Return the format of a file by its name.

    Raises:
        InvalidInputError: the name says none.
    """
    if out is None:
        return Format.TABLE
    ending = out.suffix.lstrip(".")
    if ending not in {Format.CSV, Format.JSON, Format.PARQUET}:
        raise InvalidInputError(
            f"{out} has no ending that says how to write it: end it in .csv, .json or .parquet,"
            " or give --format"
        )
    return Format(ending)


def _write_bytes(out: Path | None, data: bytes) -> None:
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        out.write_bytes(data)
    except OSError as error:
        raise InvalidInputError(f"cannot write {out}: {error.strerror}") from error


def _as_parquet(table: pa.Table) -> bytes:
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer)
    return bytes(buffer.getvalue().to_pybytes())


def _as_csv(rows: Rows) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows.columns)
    writer.writerows([_plain(value) for value in row] for row in rows.rows)
    return out.getvalue()


def _as_json(rows: Rows) -> str:
    records = [dict(zip(rows.columns, map(_plain, row), strict=True)) for row in rows.rows]
    return json.dumps(records, indent=2, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Return a value that JSON and CSV know."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def _show(rows: Rows) -> None:
    console = people()
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    for column in rows.columns:
        table.add_column(Text(one_line(column)), overflow="fold")
    for row in rows.rows:
        table.add_row(*(Text("" if v is None else one_line(str(_plain(v)), 2000)) for v in row))
    show_table(console, table)
