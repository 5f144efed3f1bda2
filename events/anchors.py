"""Anchors: heads of a log noted elsewhere, against which a rewritten or cut log shows."""

import re
from pathlib import Path

from arbor.events.errors import InvalidInputError
from arbor.events.log import Head

_LINE = re.compile(r"(\d+):([0-9a-f]{64})")


def parse_anchor(text: str) -> Head:
    """Return the head of ``POSITION:DIGEST``.

    Raises:
        InvalidInputError: it is nothing of the kind.
    """
    match = _LINE.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(
            f"{text!r} is no anchor: give POSITION:DIGEST, or a file that --anchor wrote"
        )
    return Head(int(match[1]), match[2])


def read_anchors(source: str) -> tuple[Head, ...]:
    """Return the anchors of a file, one a line, or the one that the text itself states.

    Raises:
        InvalidInputError: the file cannot be read, holds none, or something else.
    """
    if _LINE.fullmatch(source.strip()):
        return (parse_anchor(source),)
    try:
        lines = Path(source).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(
            f"anchors cannot be read from {source!r} ({error}): give POSITION:DIGEST, or a file"
            " that --anchor wrote"
        ) from error
    anchors = tuple(parse_anchor(line) for line in lines if line.strip())
    if not anchors:
        raise InvalidInputError(f"{source!r} holds no anchor: write one with --anchor {source}")
    return anchors


def require_elsewhere(path: Path, directory: Path) -> None:
    """Check that anchors do not lie in the campaign: whoever rewrites it would rewrite them too.

    Raises:
        InvalidInputError: they do.
    """
    if path.resolve().is_relative_to(directory.resolve()):
        raise InvalidInputError(
            f"{path} lies in the campaign that it should prove: keep anchors elsewhere"
        )


def note_anchor(path: Path, head: Head) -> None:
    """Append a head to a file of anchors, which is made when needed.

    Raises:
        InvalidInputError: the file cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{head.position}:{head.digest}\n")
    except OSError as error:
        raise InvalidInputError(
            f"cannot write {path} ({error.strerror}): choose another file"
        ) from error
