"""Approvals: who needs one, and until when."""

import pytest

from arbor.core.approval import awaits_approval, needs_approval, require_known
from arbor.core.state import CampaignState
from arbor.events.choice import ActionProposed, Source
from arbor.events.errors import InvalidInputError
from arbor.events.limits import ActionApproved
from arbor.events.settings import SearchSettings, Settings
from arbor.events.types import Layer
from tests.fakes.recording import feed
from tests.fakes.stage import started, template


def _state(
    *named: str, source: Source = "orchestrator", is_approved: bool = False
) -> CampaignState:
    settings = Settings(search=SearchSettings(require_approval=named))
    proposed = ActionProposed(
        action_id="a1", template_id="a", node_id="n000", reason="x", source=source
    )
    state = CampaignState()
    feed(state, [started([template("a")], settings), proposed])
    if is_approved:
        feed(state, [ActionApproved(action_id="a1", by="ann")], first=3)
    return state


def test_nobody_needs_one_unless_it_is_asked_for() -> None:
    state = _state()
    assert not needs_approval(state, state.tree.actions["a1"])
    state = _state("framework", "b")
    assert not needs_approval(state, state.tree.actions["a1"])


def test_layers_and_templates_can_be_named() -> None:
    for name in ("kernel", "a"):
        state = _state(name)
        assert needs_approval(state, state.tree.actions["a1"])
        assert awaits_approval(state, state.tree.actions["a1"])


def test_an_approval_is_enough() -> None:
    state = _state("a", is_approved=True)
    assert needs_approval(state, state.tree.actions["a1"])
    assert not awaits_approval(state, state.tree.actions["a1"])


def test_humans_need_no_approval_of_humans() -> None:
    for source in ("human", "rebuild"):
        state = _state("a", source=source)
        assert not needs_approval(state, state.tree.actions["a1"])


def test_names_that_nobody_has() -> None:
    require_known((*Layer, "a"), [template("a")])
    with pytest.raises(InvalidInputError, match="'kernle', which is no layer"):
        require_known(("kernel", "kernle"), [template("a")])
