"""A claim holds all that somebody else needs to measure it again."""

import pytest

from arbor.core.claims import final_claim, node_claim
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Status
from arbor.events.base import Recorded
from arbor.events.errors import InvalidInputError, NotFoundError
from arbor.events.evidence import BenchmarkMeasured


def state_of(history: tuple[Recorded, ...]) -> CampaignState:
    state = CampaignState()
    for recorded in history:
        state.apply(recorded)
    return state


def test_the_final_claim_is_the_last_revalidation(history: tuple[Recorded, ...]) -> None:
    state = state_of(history)
    claim = final_claim(state)
    *_, measured = (
        r.event
        for r in history
        if isinstance(r.event, BenchmarkMeasured) and r.event.purpose == "revalidation"
    )
    assert claim.effect == measured.effect
    assert (claim.node_id, claim.incumbent_id) == (state.tree.current_id, ROOT_ID)
    assert claim.commit == measured.commit == state.tree.current.commit
    assert claim.incumbent_commit == claim.root_commit == state.root_commit
    edits = {edit.key: edit.value for step in claim.steps for edit in step}
    assert state.tree.root_config | edits == state.tree.config_at(claim.node_id)
    pair = next(r for r in state.requests.by_id.values() if r.result == measured).pairs[0]
    assert claim.num_requests == pair.candidate.num_completed
    assert claim.accuracy == state.tree.current.accuracy


def test_a_node_is_claimed_against_its_parent(history: tuple[Recorded, ...]) -> None:
    state = state_of(history)
    for node in state.tree.nodes.values():
        if node.status is Status.KEPT and node.parent_id is not None:
            claim = node_claim(state, node.node_id)
            assert claim.effect == node.effect
            assert claim.incumbent_id == node.parent_id
            assert claim.incumbent_commit == state.tree.node(node.parent_id).commit


def test_without_a_final_measurement_there_is_no_claim(history: tuple[Recorded, ...]) -> None:
    with pytest.raises(NotFoundError, match="no final claim"):
        final_claim(state_of(history[: len(history) // 2]))


def test_what_was_never_benchmarked_is_no_claim(history: tuple[Recorded, ...]) -> None:
    state = state_of(history)
    with pytest.raises(NotFoundError, match="no node 'n999'"):
        node_claim(state, "n999")
    with pytest.raises(InvalidInputError, match="not benchmarked"):
        node_claim(state, ROOT_ID)
    crashed = next(n for n in state.tree.nodes.values() if n.status is Status.CRASHED)
    with pytest.raises(InvalidInputError, match="an effect"):
        node_claim(state, crashed.node_id)
