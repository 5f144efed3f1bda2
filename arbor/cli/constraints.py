"""`arbor constraints`: every constraint, why it stands, until when, and what it has blocked."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from arbor.cli.console import say
from arbor.cli.moments import At, position_of
from arbor.cli.text import one_line
from arbor.core.scopes import lift_words, scope_words
from arbor.events.limits import ConstraintLifted, ConstraintPublished
from arbor.replay.projections.constraint_blocks import ConstraintBlocks
from arbor.replay.reading import open_campaign

_MAX_SHOWN = 8
"""Things of one kind that a constraint blocked, in words; the rest is counted."""
_MAX_WIDTH = 160


class _Limits:
    """The constraints of a log, in order, and how each ended."""

    def __init__(self) -> None:
        self.published: dict[str, tuple[int, ConstraintPublished]] = {}
        self.lifted: dict[str, tuple[int, str]] = {}

    def note(self, position: int, event: object) -> None:
        """Fold one event."""
        match event:
            case ConstraintPublished():
                self.published[event.constraint_id] = position, event
                self.lifted.pop(event.constraint_id, None)
            case ConstraintLifted():
                self.lifted[event.constraint_id] = position, event.reason
            case _:
                pass


def constraints(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    at: At = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Show what must not be tried, why, until when, and what that has blocked so far."""
    recording = open_campaign(directory)
    limits, blocks = _Limits(), ConstraintBlocks()
    for recorded in recording.events(up_to=position_of(recording, at)):
        limits.note(recorded.position, recorded.event)
        blocks.apply(recorded)
    if as_json:
        say(json.dumps([_record(limits, blocks, name) for name in limits.published], indent=2))
        return
    if not limits.published:
        say("no constraint was published")
    for name in limits.published:
        for head, line in _lines(limits, blocks, name):
            say(f"{head}{one_line(line, _MAX_WIDTH)}")


def _record(limits: _Limits, blocks: ConstraintBlocks, name: str) -> dict[str, object]:
    position, event = limits.published[name]
    ended = limits.lifted.get(name)
    return {
        "constraint_id": name,
        "is_in_force": ended is None,
        "scope": event.scope.model_dump(mode="json", exclude_defaults=True),
        "reason": event.reason,
        "evidence": list(event.evidence),
        "lift": event.lift.model_dump(mode="json", exclude_defaults=True),
        "published_at": position,
        "lifted_at": None if ended is None else ended[0],
        "lifted_because": None if ended is None else ended[1],
        "blocked": [
            {"stage": stage, "what": what, "action_id": action_id, "position": at}
            for _, stage, what, action_id, at in blocks.of(name)
        ],
    }


def _lines(limits: _Limits, blocks: ConstraintBlocks, name: str) -> Iterator[tuple[str, str]]:
    """Yield what is said of a constraint, as heads of lines and their texts."""

    def head(word: str) -> str:
        return f"      {word:<10}"

    position, event = limits.published[name]
    ended = limits.lifted.get(name)
    yield f"{name}  ", scope_words(event.scope)
    yield head("because"), f"{event.reason} (position {position})"
    for number, line in enumerate(event.evidence):
        yield head("" if number else "evidence"), line
    if ended is not None:
        yield head("is over"), f"lifted at {ended[0]}: {ended[1]}"
    else:
        yield head("in force"), f"ends {lift_words(event.lift)}"
    blocked: dict[str, list[str]] = {}
    for _, stage, what, _action_id, _at in blocks.of(name):
        blocked.setdefault(stage, []).append(what)
    if not blocked:
        yield head("blocked"), "nothing so far"
    for stage, found in blocked.items():
        shown = "; ".join(found[:_MAX_SHOWN])
        more = f"; and {len(found) - _MAX_SHOWN} more" if len(found) > _MAX_SHOWN else ""
        yield head("blocked"), f"{len(found)} at {stage}: {shown}{more}"
