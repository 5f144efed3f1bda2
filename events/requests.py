"""Events that ask for evidence, appended by the Orchestrator."""

from typing import ClassVar, Literal

from pydantic import Field

from arbor.events.base import Event
from arbor.events.types import Edit, SeriesPlan, Witness

Purpose = Literal["profile", "noise", "accuracy", "benchmark", "revalidation", "soak"]


class MeasurementRequested(Event):
    """Evidence about a node is wanted.

    The commit to measure is ``parent_commit`` with ``edits`` applied; commits are made from
    content alone, so whoever builds it gets the same hash.
    """

    area: ClassVar[str] = "requests"
    kind: Literal["MeasurementRequested"] = "MeasurementRequested"

    request_id: str
    purpose: Purpose
    node_id: str
    parent_commit: str
    edits: tuple[Edit, ...] = ()
    incumbent_commit: str
    """Commit of the arm to compare with; the frozen baseline for accuracy."""
    witness: Witness | None = None
    is_exact: bool = True
    plan: SeriesPlan | None = None
    """How to measure and judge a benchmark or a final claim; for a claim, ``max_pairs`` are
    planned on each of ``max_starts``."""
    seed: int = Field(ge=0)

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {f"request:{self.request_id}", f"node:{self.node_id}"}


class ActionRebased(Event):
    """A finished patch moved onto the current node, which makes it a new node."""

    area: ClassVar[str] = "requests"
    kind: Literal["ActionRebased"] = "ActionRebased"

    from_node_id: str
    node_id: str
    """New node."""
    parent_id: str
    """Node that the patch now lies on."""
    parent_commit: str

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {f"node:{self.node_id}"}
