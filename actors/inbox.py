"""What people said while somebody else owned the log: one durable file a command."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arbor.actors.commands import HUMAN
from arbor.events.base import Draft, canonical_json
from arbor.events.durable import make_directory, publish, sync_directory
from arbor.events.errors import CorruptLogError, InvalidInputError
from arbor.events.layout import read_sealed, to_sealed
from arbor.events.union import decode

SUFFIX = ".json"
REFUSED_SUFFIX = ".refused"


@dataclass(frozen=True, slots=True)
class Letter:
    """A command that waits.

    Attributes:
        event_id: id that its event has in the log.
        draft: the event; None when the file is not one that Arbor wrote.
    """

    event_id: str
    draft: Draft | None


@dataclass(frozen=True, slots=True)
class Inbox:
    """The folder of a campaign in which commands wait until they are in the log.

    A command is appended with the id that its file is named after, then its file is deleted;
    when the process dies between, the log knows the id and stores the event once.

    Attributes:
        directory: the folder; made when something is put there.
    """

    directory: Path

    def put(self, draft: Draft) -> None:
        """Write a command durably: temporary file, sync, link, sync of the folder.

        Raises:
            InvalidInputError: the folder cannot be written.
            StorageFullError: there is no space.
        """
        make_directory(self.directory)
        fields = {
            "actor": draft.actor,
            "event": draft.event.model_dump(mode="json"),
            "event_id": draft.event_id,
        }
        publish(to_sealed(fields), self._path(draft.event_id))

    def waiting(self) -> Iterator[Letter]:
        """Yield the commands that wait, oldest first."""
        if not self.directory.is_dir():
            return
        for path in sorted(self.directory.glob(f"*{SUFFIX}")):
            if not path.name.startswith("."):
                yield Letter(path.stem, _draft(path))

    def remove(self, event_id: str) -> None:
        """Delete a command that is in the log; harmless when it is gone."""
        self._path(event_id).unlink(missing_ok=True)

    def refuse(self, event_id: str, reason: str) -> None:
        """Leave the reason in the place of a command that must not enter the log."""
        path = self._path(event_id)
        self._reason_path(event_id).write_text(reason + "\n", encoding="utf-8")
        path.unlink(missing_ok=True)
        sync_directory(self.directory)

    def take_refusal(self, event_id: str) -> str | None:
        """Return why a command was refused and forget it, or None when it was not."""
        path = self._reason_path(event_id)
        try:
            reason = path.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        path.unlink(missing_ok=True)
        return reason

    def _path(self, event_id: str) -> Path:
        return self.directory / f"{event_id}{SUFFIX}"

    def _reason_path(self, event_id: str) -> Path:
        return self.directory / f"{event_id}{REFUSED_SUFFIX}"


def _draft(path: Path) -> Draft | None:
    """Return the draft of a file, or None when it is not one of Arbor's."""
    try:
        fields: dict[str, Any] = read_sealed(path)
        event_id, actor = str(uuid.UUID(fields["event_id"])), fields["actor"]
        event = decode(canonical_json(fields["event"]))
    except (CorruptLogError, InvalidInputError, ValueError, KeyError, TypeError, AttributeError):
        return None
    is_named_so = event_id == path.stem and str(actor).split(":")[0] == HUMAN
    return Draft(event, event_id, actor) if is_named_so else None
