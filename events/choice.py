"""Events of choice, appended by the Orchestrator; a human may propose too."""

from typing import ClassVar, Literal

from arbor.events.base import Event
from arbor.events.types import (
    ActionTemplate,
    ArmReading,
    Edit,
    ProbeReading,
    RebuiltPart,
    ScoreTerms,
)

Source = Literal["orchestrator", "human", "rebuild", "bundle", "stack"]
"""Who wants an action: the search, a human, a path that lost a commit, small gains together, or
several switches that were not tried yet."""


class ActionProposed(Event):
    """A template became a candidate at a node."""

    area: ClassVar[str] = "choice"
    kind: Literal["ActionProposed"] = "ActionProposed"

    template_id: str
    node_id: str
    """Node at which the action was proposed."""
    revives: str | None = None
    """Earlier action of the same template that was reverted or crashed."""
    reason: str
    source: Source = "orchestrator"
    template: ActionTemplate | None = None
    """Entry that the catalog lacks: a human's own edits, a rebuilt path, or a bundle."""
    parts: tuple[RebuiltPart, ...] = ()
    """What a rebuilt path or a bundle is made of, in its order."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        # What a human wants concerns every decision, also that of the end.
        everybody = {"campaign"} if self.source == "human" else set()
        return super().tags() | {f"template:{self.template_id}"} | everybody


class ActionScored(Event):
    """A candidate got its score at a node, with everything that entered it."""

    area: ClassVar[str] = "choice"
    kind: Literal["ActionScored"] = "ActionScored"

    node_id: str
    form: Literal["risk_averse", "as_printed"]
    score: float
    terms: ScoreTerms


class RouteDecided(Event):
    """A search engine was chosen for the numbers inside an action."""

    area: ClassVar[str] = "choice"
    kind: Literal["RouteDecided"] = "RouteDecided"

    engine: str
    evidence: str
    layer: str = ""
    language: str = ""
    """What is written there, such as ``config`` or ``triton``; routes of others prove nothing."""
    density: Literal["dense", "sparse", "mixed", "unknown"] = "unknown"
    """What the probes say about the prior of an adviser."""
    probes: tuple[ProbeReading, ...] = ()
    arms: tuple[ArmReading, ...] = ()
    """All engines that were open, with what their earlier plays gained."""


class FrontierMoved(Event):
    """The search goes on from another kept node; what was kept below the old one stays."""

    area: ClassVar[str] = "choice"
    kind: Literal["FrontierMoved"] = "FrontierMoved"

    node_id: str
    """Node that new work starts from."""
    from_node_id: str
    reason: str


class ActionDispatched(Event):
    """A specialist is to be built for an action; the action becomes a node of the tree."""

    area: ClassVar[str] = "choice"
    kind: Literal["ActionDispatched"] = "ActionDispatched"

    node_id: str
    """New node."""
    parent_id: str
    """Node on which the work starts."""
    parent_commit: str
    template_id: str
    specialist: Literal["config", "tuning"]
    edits: tuple[Edit, ...]
    brief: str
    """What the specialist is told: hardware, profile, history, constraints."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {f"node:{self.node_id}", f"template:{self.template_id}"}


class ActionWithdrawn(Event):
    """An action will not be tried, or not finished."""

    area: ClassVar[str] = "choice"
    kind: Literal["ActionWithdrawn"] = "ActionWithdrawn"

    reason: str
