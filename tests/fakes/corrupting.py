"""Where the parts of a campaign lie, for those who corrupt them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arbor.events.layout import Layout
from tests.fakes.forged_log import ForgedLog, with_values


def log_of(path: Path) -> Layout:
    """Return the names of a campaign's log."""
    return Layout(path / "log")


def tails(path: Path) -> list[Path]:
    """Return the files of the tail, in order."""
    layout = log_of(path)
    return [layout.tail_path(first) for first in layout.tails()]


def segments(path: Path) -> list[Path]:
    """Return the segments, in order."""
    layout = log_of(path)
    return [layout.segment_path(*each) for each in layout.segment_ranges()]


def lone_tails(path: Path) -> list[Path]:
    """Return the commits that are in no segment."""
    last = max(last for _, last in log_of(path).segment_ranges())
    layout = log_of(path)
    return [layout.tail_path(first) for first in layout.tails() if first > last]


def blob(path: Path, number: int = 0) -> Path:
    """Return a blob, in the order of their digests."""
    return sorted(p for p in (path / "blobs").glob("*/*") if p.parent.name != "incoming")[number]


def edit_json(path: Path, **changes: Any) -> None:
    """Change fields of a JSON file."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**fields, **changes}, indent=2), encoding="utf-8")


def forge(path: Path, kind: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the first payload of a kind; all digests are right afterwards."""
    forged = ForgedLog(path / "log")
    is_done = False

    def changed(payload: str) -> str:
        nonlocal is_done
        fields: dict[str, Any] = json.loads(payload)
        if fields["kind"] != kind or is_done:
            return payload
        is_done = True
        change(fields)
        return json.dumps(fields, separators=(",", ":"))

    forged.commits = [with_values(each, "payload", changed) for each in forged.commits]
    forged.write()
    assert is_done
