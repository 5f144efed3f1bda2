"""Pages under docs/ that a benchmark writes itself."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from table import Row, table


def machine() -> str:
    """Return the machine in one line."""
    return (
        f"{platform.system()} {platform.release()}, {platform.machine()},"
        f" {os.cpu_count()} cores, Python {platform.python_version()}"
    )


def write_page(
    path: Path, title: str, command: str, introduction: str, rows: Sequence[Row]
) -> None:
    """Write a page with a table of figures.

    Args:
        path: the page.
        title: its title.
        command: what writes it.
        introduction: Markdown above the table.
        rows: the figures.
    """
    when = f"{datetime.now(UTC):%Y-%m-%d}"
    text = (
        f"# {title}\n\nWritten by `{command}` on {when} ({machine()}).\n\n{introduction}\n"
        f"```text\n{table(rows)}\n```\n"
    )
    path.write_text(text, encoding="utf-8")
