"""A moment of a campaign: a position of its log, or a time, as people write it."""

import re
from datetime import UTC, datetime, timedelta

from arbor.core.campaign import parse_duration_s
from arbor.events.campaign import CampaignStarted
from arbor.events.errors import InvalidInputError
from arbor.replay.reading import Recording

FORMS = "a position such as 120, +90s since the start, or a time such as 2026-11-30T12:00:00Z"
"""What people may write."""


def position_at(recording: Recording, text: str) -> int:
    """Return the position that a text names: itself, or the last event up to a time.

    Args:
        recording: the campaign.
        text: digits; ``+`` and a duration since CampaignStarted; or an ISO time, UTC if it has
            no zone.

    Raises:
        InvalidInputError: it is none of these, or the log does not reach there.
        CorruptLogError: a stored event cannot be read.
    """
    text = text.strip()
    if re.fullmatch(r"\d+", text):
        return _within(recording, int(text))
    if text.startswith("+"):
        moment = _started_at(recording) + timedelta(seconds=parse_duration_s(text[1:]))
    else:
        moment = _parsed(text)
    return _last_until(recording, moment)


def _within(recording: Recording, position: int) -> int:
    head = recording.reader.head().position
    if not 1 <= position <= head:
        raise InvalidInputError(
            f"there is no position {position}: the log of {recording.directory.path} goes from 1"
            f" to {head}"
        )
    return position


def _started_at(recording: Recording) -> datetime:
    return next(r.recorded_at for r in recording.events() if isinstance(r.event, CampaignStarted))


def _parsed(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(f"{text!r} is no moment of a log: give {FORMS}") from error
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _last_until(recording: Recording, moment: datetime) -> int:
    position = 0
    for recorded in recording.events():
        if recorded.recorded_at > moment:
            break
        position = recorded.position
    if position == 0:
        raise InvalidInputError(
            f"the log of {recording.directory.path} begins after {moment.isoformat()}: give a"
            " later time"
        )
    return position
