"""Events of a campaign's life, appended by the supervisor."""

from typing import ClassVar, Literal

from arbor.events.base import Event
from arbor.events.settings import Settings
from arbor.events.types import ActionTemplate, Hardware


class CampaignStarted(Event):
    """A campaign began; everything that decisions depend on is here."""

    area: ClassVar[str] = "campaign"
    kind: Literal["CampaignStarted"] = "CampaignStarted"

    name: str
    target: str
    """Registered name of the target."""
    target_config: str
    """Canonical JSON of the target's own configuration."""
    settings: Settings
    actions: tuple[ActionTemplate, ...]
    """The target's catalog for this hardware."""
    hardware: Hardware
    root_commit: str
    """Commit of the frozen baseline in the workspace."""
    root_config: str
    """Canonical JSON of the baseline's flat configuration, ``section.key`` to value."""
    objective: str = "throughput_tok_s"
    arbor_version: str
    decision_code: str = ""
    """Digest of the code of the reactors; only equal code recomputes their decisions."""
    software: tuple[str, ...] = ()
    """Versions of what the stack runs on, each ``name version``, as far as the target tells."""


class CampaignPaused(Event):
    """Dispatch stopped on request."""

    area: ClassVar[str] = "campaign"
    kind: Literal["CampaignPaused"] = "CampaignPaused"

    reason: str

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return frozenset({"campaign"})


class CampaignResumed(Event):
    """A driver took the campaign up again; the clock of the budget runs from here."""

    area: ClassVar[str] = "campaign"
    kind: Literal["CampaignResumed"] = "CampaignResumed"

    reason: str
    added_wall_s: float = 0.0
    """Wall-clock seconds added to the budget by the user."""
    decision_code: str = ""
    """Digest of the code of the reactors from here on; empty: as before."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return frozenset({"campaign"})


class CampaignEnded(Event):
    """The campaign is over; only a new budget can resume it."""

    area: ClassVar[str] = "campaign"
    kind: Literal["CampaignEnded"] = "CampaignEnded"

    reason: str
    node_id: str
    """Node of the final stack."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return frozenset({"campaign"})
