"""Patches among other actions: dispatched to a code specialist, rebased, refused, rebuilt."""

import pytest

from arbor.core.tree import ROOT_ID, Status
from arbor.events.base import Event
from arbor.events.choice import ActionDispatched, ActionProposed, ActionWithdrawn
from arbor.events.limits import ActionVetoed
from arbor.events.outcome import Crashed
from arbor.events.requests import ActionRebased
from arbor.events.types import ActionTemplate, Edit, Layer, PatchTask
from arbor.events.work import PatchRefused
from tests.fakes.stage import Stage, template

MODULE = "overlay/m.py"


def _patch(name: str, layer: Layer = Layer.KERNEL, path: str = MODULE) -> ActionTemplate:
    task = PatchTask(files=(path,), idea=f"{name} is faster")
    return template(name, layer, edits=(), patch=task, is_exact=False)


def _content(digest: str, name: str = "m.py") -> tuple[Edit, ...]:
    return (Edit(key=f"overlay.{name}", value=digest),)


def _kinds(events: list[Event], kind: type[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def test_a_patch_goes_to_a_code_specialist_with_its_idea() -> None:
    stage = Stage(_patch("a"))
    said = stage.open()
    (dispatch,) = (e for e in said if isinstance(e, ActionDispatched))
    assert dispatch.specialist == "code"
    assert dispatch.edits == ()
    assert "Idea: a is faster" in dispatch.brief
    assert f"Files: {MODULE}." in dispatch.brief


def test_a_kept_patch_is_part_of_the_configuration_and_is_not_asked_for_again() -> None:
    stage = Stage(_patch("a"))
    stage.open()
    stage.work("a", _content("1"))
    kept = stage.keep_measured("a")
    assert kept.status is Status.KEPT
    config = stage.state.tree.config_at(kept.node_id)
    assert config["overlay.m.py"] == "1"
    assert all(a.action_id == kept.action_id for a in stage.state.tree.history("a"))


@pytest.mark.parametrize("other", ["overlay/m.py", "overlay/other.py"])
def test_a_patch_is_rebased_only_onto_the_file_that_it_was_written_for(other: str) -> None:
    stage = Stage(_patch("a"), _patch("b", Layer.FRAMEWORK, other))
    stage.open()
    stage.work("b", _content("2", other.removeprefix("overlay/")))
    stage.work("a", _content("1"))
    stage.turn()
    first = stage.request("accuracy").asked.node_id
    winner, waiting = ("a", "b") if stage.node_of("a").node_id == first else ("b", "a")
    stage.keep_measured(winner)
    said = [recorded.event for recorded in stage.events()]
    rebased, withdrawn = _kinds(said, ActionRebased), _kinds(said, ActionWithdrawn)
    if other == MODULE:
        assert rebased == []
        reasons = [e.reason for e in withdrawn if isinstance(e, ActionWithdrawn)]
        assert reasons == [f"after a keep: {MODULE} is another one now"]
        # its specialist starts again, from the file as it is now
        again = stage.state.tree.history(waiting)[-1]
        assert again.revives is not None
    else:
        assert len(rebased) == 1
        assert withdrawn == []


def _refuse(stage: Stage, name: str) -> None:
    node = stage.node_of(name)
    stage.say(
        PatchRefused(action_id=node.action_id, node_id=node.node_id, reason="it touches bench.py"),
        actor=f"specialist-{node.node_id}",
    )


def test_a_refused_patch_is_over_and_does_not_come_back() -> None:
    stage = Stage(_patch("a"))
    stage.open()
    _refuse(stage, "a")
    stage.turn()
    node = stage.node_of("a")
    assert (node.status, node.reason) == (Status.REFUSED, "it touches bench.py")
    assert len(stage.state.tree.history("a")) == 1
    assert stage.has_request("revalidation")


def test_a_refusal_that_comes_too_late_changes_nothing() -> None:
    stage = Stage(_patch("a"))
    stage.open()
    node = stage.node_of("a")
    stage.say(ActionVetoed(action_id=node.action_id, reason="no", by="human"))
    _refuse(stage, "a")
    assert stage.node_of("a").status is Status.VETOED
    assert stage.state.tree.actions[node.action_id or ""].outcome is Status.VETOED


def test_a_broken_draft_s_files_are_what_its_root_cause_looks_at() -> None:
    stage = Stage(_patch("a"))
    stage.open()
    lines = (
        "Traceback (most recent call last):",
        f'  File "/c/worktrees/x/{MODULE}", line 3, in attend',
        "    return table[key]",
        "KeyError: 'x'",
    )
    stage.break_work("a", "the server ended", log_tail=lines, patch_files=(MODULE,), exit_code=1)
    stage.turn()
    (crash,) = stage.of_kind(Crashed)
    assert crash.patch_files == (MODULE,)
    cause = stage.state.tree.actions[stage.action_of("a")].root_cause
    assert cause is not None
    assert not cause.blames_idea


def test_a_rebuilt_path_leaves_out_what_was_written_on_the_revoked_patch() -> None:
    stage = Stage(_patch("a"), _patch("c"))
    stage.open()
    stage.work("a", _content("1"))
    stage.keep_measured("a")
    # it was begun on the baseline, so it is written again
    stage.work("c", _content("2"))
    stage.turn()
    stage.work("c", _content("1 and 2"))
    stage.keep_measured("c")
    first = stage.state.tree.path(stage.state.tree.current_id)[1]
    stage.say(ActionVetoed(action_id=first.action_id, reason="not safe", by="human"))
    stage.turn()
    assert stage.state.tree.current_id == ROOT_ID
    assert [e for e in stage.of_kind(ActionProposed) if e.source == "rebuild"] == []
