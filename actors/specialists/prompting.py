"""How a conversation with a model begins: rules, then the matter, files as data."""

from collections.abc import Iterable, Mapping

from arbor.actors.models.framing import data
from arbor.core.models import Message


def listing(files: Mapping[str, str]) -> str:
    """Return files as data, one after the other."""
    return "\n".join(data(path, files[path]) for path in sorted(files))


def conversation(system: str, parts: Iterable[str]) -> tuple[Message, ...]:
    """Return what opens a conversation: rules, then the matter."""
    return (
        Message(role="system", content=system),
        Message(role="user", content="\n\n".join(part for part in parts if part)),
    )
