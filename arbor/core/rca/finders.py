"""How a rule finds its lines: by patterns in the log, in the exception, or in its frames."""

import re
from collections.abc import Sequence

from arbor.core.rca.base import MAX_EVIDENCE_LINES, Find
from arbor.core.rca.lines import Line
from arbor.core.rca.record import Raised, Record
from arbor.events.causes import LogLine


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern that does not look at upper and lower case."""
    return re.compile(pattern, re.IGNORECASE)


def raw(lines: Sequence[Line]) -> tuple[LogLine, ...]:
    """Return the lines as they stand in the log, the first few."""
    return tuple(line.raw for line in lines[:MAX_EVIDENCE_LINES])


def trouble(pattern: str, *, also: str = "", unless: str = "") -> Find:
    """Find lines that report trouble.

    Args:
        pattern: what they say.
        also: what some line of the log, of any level, has to say as well.
        unless: what no line of the log may say.
    """
    return _find(pattern, also, unless, is_any_level=False)


def anywhere(pattern: str, *, also: str = "", unless: str = "") -> Find:
    """Find lines of any level; for signatures that nothing harmless prints."""
    return _find(pattern, also, unless, is_any_level=True)


def _find(pattern: str, also: str, unless: str, *, is_any_level: bool) -> Find:
    main, other, never = compiled(pattern), compiled(also), compiled(unless)

    def find(record: Record) -> tuple[LogLine, ...]:
        hits = record.seen(main) if is_any_level else record.trouble(main)
        if not hits or (unless and record.seen(never)):
            return ()
        if not also:
            return raw(hits)
        others = record.seen(other)
        return raw(_together(hits, others)) if others else ()

    return find


def _together(hits: Sequence[Line], others: Sequence[Line]) -> list[Line]:
    half = MAX_EVIDENCE_LINES // 2
    lines = {line.number: line for line in (*hits[:half], *others[:half])}
    return [lines[number] for number in sorted(lines)]


def raised(
    name: str, text: str = "", *, frames: str = "", source: str = "", innermost: bool = False
) -> Find:
    """Find an exception.

    Args:
        name: its class.
        text: what its message says.
        frames: what a file of its traceback is called.
        source: what the line of code that raised it says.
        innermost: only the last frame counts.
    """
    named, said, placed, coded = (
        re.compile(rf"^(?:{name})$"),
        compiled(text),
        compiled(frames),
        compiled(source),
    )

    def find(record: Record) -> tuple[LogLine, ...]:
        hits = [
            each
            for each in record.raised
            if named.match(each.name)
            and said.search(each.text)
            and coded.search(each.source)
            and (not frames or _passes(each, placed, is_innermost=innermost))
        ]
        return raw([each.line for each in hits])

    return find


def _passes(each: Raised, pattern: re.Pattern[str], *, is_innermost: bool) -> bool:
    paths = each.frames[-1:] if is_innermost else each.frames
    return any(pattern.search(path) for path in paths)


def through_frames(pattern: str, frames: str) -> Find:
    """Find trouble whose log shows a frame of certain files."""
    said, placed = compiled(pattern), compiled(frames)

    def find(record: Record) -> tuple[LogLine, ...]:
        hits = record.trouble(said)
        passes = [x for x in record.lines if x.kind == "frame" and placed.search(x.text)]
        return raw(_together(hits, passes)) if hits and passes else ()

    return find


def any_of(*finds: Find) -> Find:
    """Find what the first of several finds."""

    def find(record: Record) -> Sequence[LogLine]:
        return next((lines for each in finds if (lines := each(record))), ())

    return find


def all_of(*finds: Find) -> Find:
    """Find what all of several find, or nothing."""

    def find(record: Record) -> Sequence[LogLine]:
        found = [each(record) for each in finds]
        if not all(found):
            return ()
        lines = {line.number: line for some in found for line in some[:2]}
        return tuple(lines[number] for number in sorted(lines))[:MAX_EVIDENCE_LINES]

    return find


def but_not(find: Find, other: Find) -> Find:
    """Find what one finds where another finds nothing."""

    def alone(record: Record) -> Sequence[LogLine]:
        return () if other(record) else find(record)

    return alone
