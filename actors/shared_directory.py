"""Whether all nodes share the campaign's directory, tried out before the campaign starts.

The driver leaves a token; each node reads it back, leaves an answer, and waits for a file that
the driver links once all answers are there. That is how events come to be seen: a name that was
looked for in vain appears.
"""

import secrets
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from arbor.events.durable import make_directory, publish
from arbor.events.errors import InvalidInputError, LogError

FOLDER = "nodes"
"""Folder of the tokens, in the campaign's directory."""
SEEN_LIMIT_S = 10.0
"""Whatever one node writes, all others must see within this; NFS may cache names for a minute."""
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Token:
    """What the driver left.

    Attributes:
        folder: where it lies, by the same path on every node.
        name: names all files of this check.
        content: what the token's file holds.
    """

    folder: Path
    name: str
    content: str

    @property
    def first(self) -> Path:
        """The file that is there before any node looks."""
        return self.folder / f"{self.name}.token"

    @property
    def second(self) -> Path:
        """The file that appears while all nodes look for it."""
        return self.folder / f"{self.name}.append"

    def answer(self, node: str) -> Path:
        """The file by which a node says that it has read the first."""
        return self.folder / f"{self.name}.{node}.here"


def leave_token(directory: Path) -> Token:
    """Leave a token in a campaign's directory.

    Raises:
        InvalidInputError: the directory cannot be written.
        LogError: the disk did not confirm.
    """
    folder = directory / FOLDER
    make_directory(folder)
    token = Token(folder, secrets.token_hex(8), secrets.token_hex(16))
    publish(token.content.encode(), token.first)
    return token


def look(token: Token, node: str, limit_s: float = SEEN_LIMIT_S) -> str | None:
    """Do a node's part; return what is wrong, as the end of a sentence about the node, or None."""
    if not _appears(token.first, limit_s):
        return "does not see it"
    if token.first.read_text(encoding="ascii") != token.content:
        return "sees another one there"
    # This look fails, and is what a network file system may remember for too long.
    if token.second.exists():
        return "sees another one there"
    try:
        publish(b"here", token.answer(node))
    except (OSError, InvalidInputError, LogError) as error:
        return f"cannot write there ({error})"
    # The driver waits as long for all answers before it writes the second file.
    if not _appears(token.second, 2 * limit_s):
        return f"does not see within {limit_s:g} s what others append there"
    return None


def gather(token: Token, nodes: Collection[str], limit_s: float = SEEN_LIMIT_S) -> set[str]:
    """Wait for the nodes' answers, then append; return the nodes whose answer was not seen.

    Raises:
        InvalidInputError: the directory cannot be written.
        LogError: the disk did not confirm.
    """
    deadline = time.monotonic() + limit_s
    unseen = set(nodes)
    while unseen and time.monotonic() < deadline:
        unseen = {node for node in unseen if not token.answer(node).exists()}
        time.sleep(_POLL_S)
    publish(b"append", token.second)
    return unseen


def sweep(token: Token) -> None:
    """Remove the files of a check, and the folder that is empty then."""
    for path in token.folder.glob(f"{token.name}.*"):
        path.unlink(missing_ok=True)
    # A node that answers too late leaves its answer behind.
    with suppress(OSError):
        token.folder.rmdir()


def _appears(path: Path, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not path.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def refusal(directory: Path, node: str, what: str) -> InvalidInputError:
    """Return the error for a node that does not share the directory."""
    return InvalidInputError(
        f"campaign directory {directory}: node {node} {what}; give --dir on a disk that all nodes "
        "mount at the same path and may write (NFS: with lookupcache=none)"
    )
