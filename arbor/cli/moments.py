"""Moments on the command line: ``--at``, and ``DIR@MOMENT`` where two are compared."""

from pathlib import Path
from typing import Annotated

import typer

from arbor.events.errors import InvalidInputError
from arbor.replay.moments import FORMS, position_at
from arbor.replay.reading import Recording, open_campaign

At = Annotated[
    str | None,
    typer.Option("--at", metavar="MOMENT", help=f"Look from {FORMS}."),
]


def position_of(recording: Recording, at: str | None) -> int:
    """Return the position of a moment, the end of the log without one.

    Raises:
        InvalidInputError: the text names no moment of this log.
    """
    return recording.reader.head().position if at is None else position_at(recording, at)


def parse_place(text: str, default: Path | None = None) -> tuple[Recording, int]:
    """Return the campaign and position of ``DIR``, ``DIR@MOMENT`` or ``@MOMENT``.

    Args:
        text: what was given.
        default: directory of ``@MOMENT``.

    Raises:
        InvalidInputError: there is no directory, or no such moment.
        NotFoundError: there is no campaign.
    """
    # A directory may have an at sign in its name.
    folder, sign, moment = (text, "", "") if Path(text).exists() else text.rpartition("@")
    if sign and not folder and default is None:
        raise InvalidInputError(f"{text!r} names no directory: give DIR{text} first")
    if not sign:
        folder = text
    recording = open_campaign(Path(folder) if folder else default or Path())
    return recording, position_of(recording, moment if sign else None)
