"""How text from files, logs and tools is put before a model: as data, framed and cut."""

from collections.abc import Iterable, Mapping

from arbor.core.models import Message

MAX_CHARACTERS = 24_000
"""Of one piece of data; the middle of a longer one is left out."""


def data(name: str, text: str) -> str:
    """Return a text as data: it cannot end its frame, and is no instruction.

    Args:
        name: what it is; Arbor's own word.
        text: what somebody else wrote.
    """
    body = text if len(text) <= MAX_CHARACTERS else _cut(text)
    body = body.replace("</data", "<\\/data").replace("<data", "<\\data")
    return f'<data name="{name}">\n{body}\n</data>'


def _cut(text: str) -> str:
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def listing(files: Mapping[str, str]) -> str:
    """Return files as data, one after the other."""
    return "\n".join(data(path, files[path]) for path in sorted(files))


def conversation(system: str, parts: Iterable[str]) -> tuple[Message, ...]:
    """Return what opens a conversation: rules, then the matter."""
    return (
        Message(role="system", content=system),
        Message(role="user", content="\n\n".join(part for part in parts if part)),
    )
