"""`arbor events`: the log, one event a line."""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from arbor.cli.console import people, say
from arbor.cli.text import one_line
from arbor.events.base import Recorded, canonical_json
from arbor.events.campaign import CampaignEnded
from arbor.events.errors import InvalidInputError
from arbor.replay.reading import Recording, open_campaign
from arbor.replay.typed_views import event_classes

POLL_S = 1.0
_AREA_STYLES = {
    "outcome": "green",
    "judgement": "magenta",
    "limits": "red",
    "evidence": "cyan",
    "choice": "yellow",
    "life": "dim",
}


def events(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the end.")] = False,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="Only events of this kind; repeatable.")
    ] = None,
    after: Annotated[int, typer.Option("--after", min=0, help="Only beyond this position.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List the events of a campaign."""
    kinds = _known(kind or [])
    recording = open_campaign(directory)
    console = people()
    for recorded in _stream(recording, after, follow=follow):
        if kinds and recorded.event.kind not in kinds:
            continue
        if as_json:
            say(canonical_json(as_fields(recorded)))
        else:
            _show(console, recorded)


def _known(wanted: list[str]) -> frozenset[str]:
    known = [each.__name__ for each in event_classes()]
    by_lower = {name.lower(): name for name in known}
    for name in wanted:
        if name.lower() not in by_lower:
            close = get_close_matches(name, known, n=3) or known
            raise InvalidInputError(f"unknown kind {name!r}; try {', '.join(close)}")
    return frozenset(by_lower[name.lower()] for name in wanted)


def _stream(recording: Recording, after: int, *, follow: bool) -> Iterator[Recorded]:
    position = after
    try:
        while True:
            is_ended = False
            for recorded in recording.events(after=position):
                position = recorded.position
                is_ended = isinstance(recorded.event, CampaignEnded)
                yield recorded
            if not follow or is_ended:
                return
            recording.reader.wait_beyond(position, POLL_S)
    except KeyboardInterrupt:
        return


def as_fields(recorded: Recorded) -> dict[str, Any]:
    """Return an event with its header as JSON values."""
    decided_at = recorded.decided_at
    return {
        "position": recorded.position,
        "event_id": recorded.event_id,
        "recorded_at": recorded.recorded_at.isoformat(),
        "campaign_id": recorded.campaign_id,
        "actor": recorded.actor,
        "incarnation": recorded.incarnation,
        "epoch": recorded.epoch,
        "decided_after": recorded.decided_after,
        "decided_at": decided_at.isoformat() if decided_at is not None else None,
        "schema_version": recorded.schema_version,
        "event": recorded.event.model_dump(mode="json"),
    }


def _show(console: Console, recorded: Recorded) -> None:
    event = recorded.event
    fields = event.model_dump(mode="json", exclude_none=True, exclude={"kind", "causation_id"})
    body = " ".join(f"{key}={_short(value)}" for key, value in fields.items())
    line = Text(f"{recorded.position:>7} {recorded.recorded_at:%H:%M:%S.%f}"[:-3], style="dim")
    line.append(f" {recorded.actor:<16.16} ")
    line.append(f"{event.kind:<21} ", style=_AREA_STYLES.get(event.area, ""))
    room = console.width - line.cell_len if console.is_terminal else 400
    line.append(one_line(body, max(20, room)), style="dim" if event.area == "life" else "")
    console.print(line, soft_wrap=True)


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
