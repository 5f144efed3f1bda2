"""`arbor sql`: questions to the log, also while the campaign runs."""

import csv
import io
import json
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from arbor.cli.console import people, say, show_table
from arbor.cli.text import one_line
from arbor.replay.projections import Projection, Rows
from arbor.replay.reading import open_campaign


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def sql(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    query: Annotated[
        str, typer.Argument(help="SQL over `events`, `nodes` and one view a kind; `show tables`.")
    ],
    form: Annotated[Format, typer.Option("--format", help="How to write the answer.")] = (
        Format.TABLE
    ),
) -> None:
    """Run a SQL query (DuckDB) over the event log."""
    recording = open_campaign(directory)
    with Projection(recording.reader) as projection:
        rows = projection.query(query)
    if form is Format.CSV:
        say(_as_csv(rows))
    elif form is Format.JSON:
        say(_as_json(rows))
    else:
        _show(rows)


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
