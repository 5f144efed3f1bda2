"""Events of outcome: kept, reverted, crashed."""

from typing import ClassVar, Literal

from arbor.events.base import Event
from arbor.events.causes import HostFacts, LogLine
from arbor.events.types import Edit, Effect


class ActionKept(Event):
    """A node became the new baseline: the first key, after the Critic's acceptance."""

    area: ClassVar[str] = "outcome"
    kind: Literal["ActionKept"] = "ActionKept"

    node_id: str
    parent_id: str
    commit: str
    edits: tuple[Edit, ...]
    effect: Effect

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {f"node:{self.node_id}"}


class ActionReverted(Event):
    """An action did not help, or could not be shown to."""

    area: ClassVar[str] = "outcome"
    kind: Literal["ActionReverted"] = "ActionReverted"

    node_id: str
    reason: str
    effect: Effect | None = None

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {f"node:{self.node_id}"}


class Crashed(Event):
    """A candidate, or the place it ran in, broke."""

    area: ClassVar[str] = "outcome"
    kind: Literal["Crashed"] = "Crashed"

    phase: str
    """``start``, ``screening``, ``profile``, ``accuracy``, ``benchmark`` or ``revalidation``."""
    message: str
    """One line."""
    exit_code: int | None = None
    signal: int | None = None
    log_digest: str | None = None
    """Blob with the end of the server's log."""
    log_tail: tuple[str, ...] = ()
    """Last lines of the server's log."""
    request_id: str | None = None
    node_id: str | None = None
    log_excerpt: tuple[LogLine, ...] = ()
    """Telling lines of the server's whole log: what the root cause is found from."""
    host_facts: HostFacts = HostFacts()
    patch_files: tuple[str, ...] = ()
    """Files that the broken draft of a patch changed."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        own = {f"request:{self.request_id}"} if self.request_id else set()
        return super().tags() | own
