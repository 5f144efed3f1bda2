"""Claims of a campaign: measured effects that anybody can measure again."""

from dataclasses import dataclass

from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID
from arbor.events.errors import InvalidInputError, NotFoundError
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.types import AccuracySample, Edit, Effect


@dataclass(frozen=True, slots=True)
class Claim:
    """What was measured, on which commits, and what came out.

    Attributes:
        node_id: node that was measured.
        incumbent_id: node that it was compared with.
        commit: commit of the node.
        incumbent_commit: commit of the other arm.
        root_commit: commit of the frozen baseline.
        steps: edits that lead from the baseline to the node, one entry a commit.
        effect: the claimed effect.
        num_requests: requests of one window.
        is_exact: True when every action on the path claims not to change numerics.
        accuracy: the node's recorded distance from the baseline.
    """

    node_id: str
    incumbent_id: str
    commit: str
    incumbent_commit: str
    root_commit: str
    steps: tuple[tuple[Edit, ...], ...]
    effect: Effect
    num_requests: int
    is_exact: bool
    accuracy: AccuracySample | None


def final_claim(state: CampaignState) -> Claim:
    """Return the claim about the whole stack: the final node against the frozen baseline.

    Raises:
        NotFoundError: the stack that stands now was not measured against the baseline.
    """
    found = [
        (request, request.result)
        for request in state.requests.by_id.values()
        if request.asked.purpose == "revalidation"
        and request.asked.node_id == state.tree.current_id
        and isinstance(request.result, BenchmarkMeasured)
    ]
    if not found:
        raise NotFoundError(
            f"there is no final claim about {state.tree.current_id}: let the campaign end"
            " (`arbor resume`), or give one node with --node"
        )
    return _claim(state, *found[-1], ROOT_ID)


def node_claim(state: CampaignState, node_id: str) -> Claim:
    """Return the claim about one node: its benchmark against its parent.

    Raises:
        NotFoundError: there is no such node.
        InvalidInputError: the node was never benchmarked.
    """
    node = state.tree.nodes.get(node_id)
    if node is None:
        raise NotFoundError(f"there is no node {node_id!r}: `arbor tree` lists them")
    request = state.measurement_of(node_id, "benchmark")
    if node.parent_id is None or request is None:
        raise InvalidInputError(
            f"{node_id} was not benchmarked: give a node for which `arbor tree` shows an effect"
        )
    if not isinstance(request.result, BenchmarkMeasured):
        raise InvalidInputError(
            f"the benchmark of {node_id} has no result: give a node for which `arbor tree` shows"
            " an effect"
        )
    return _claim(state, request, request.result, node.parent_id)


def _claim(
    state: CampaignState, request: Request, result: BenchmarkMeasured, incumbent_id: str
) -> Claim:
    tree = state.tree
    path = tree.path(request.asked.node_id)
    windows = [pair.incumbent for pair in request.pairs]
    return Claim(
        node_id=request.asked.node_id,
        incumbent_id=incumbent_id,
        commit=result.commit,
        incumbent_commit=result.incumbent_commit,
        root_commit=state.root_commit,
        steps=tuple(node.edits for node in path[1:]),
        effect=result.effect,
        num_requests=max((w.num_completed + w.num_failed for w in windows), default=1),
        is_exact=tree.claims_exact(request.asked.node_id),
        accuracy=tree.node(request.asked.node_id).accuracy,
    )
