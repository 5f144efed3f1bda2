"""Faults of the environment are cleaned before the attempt is repeated, and nothing else is."""

import fcntl
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arbor.actors.place import Place
from arbor.actors.remedies import LOCK_AGE_S, carry_out, step_of_action, step_of_request
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.causes import RemedyStep
from arbor.events.choice import ActionDispatched
from arbor.events.work import AttemptStarted
from arbor.targets.landscape import LandscapeTarget
from arbor.targets.landscape_config import LandscapeConfig
from tests.fakes.simulation import Simulation
from tests.fakes.stage import Stage, template


class CachingLandscape(LandscapeTarget):
    """A landscape that keeps compiled code in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(LandscapeConfig(time_scale=0.0))
        self.folder = folder

    def cache_folders(self) -> Sequence[Path]:
        """Return the folder."""
        return (self.folder,)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    own = Simulation(tmp_path / "campaign").place
    return replace(own, target=CachingLandscape(tmp_path / "cache"))


def _age(path: Path) -> None:
    old = path.stat().st_mtime - 2 * LOCK_AGE_S
    os.utime(path, (old, old))


def test_locks_that_nobody_holds_are_removed(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    stale, held, young = (folder / f"{name}.lock" for name in ("stale", "held", "young"))
    for path in (stale, held, young):
        path.touch()
    _age(stale)
    _age(held)
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (said,) = carry_out("remove_locks", place, CampaignState())
    assert str(stale) in said
    assert sorted(folder.iterdir()) == [held, young]


def test_caches_are_cleared_and_the_rest_of_the_disk_is_left(place: Place, tmp_path: Path) -> None:
    folder, beside = tmp_path / "cache", tmp_path / "model"
    for each in (folder, beside):
        each.mkdir()
        (each / "x").write_text("x")
    (said,) = carry_out("clear_caches", place, CampaignState())
    assert str(folder) in said
    assert not folder.exists()
    assert (beside / "x").exists()
    assert carry_out("clear_caches", place, CampaignState()) == ()


def test_only_old_logs_and_checkouts_of_closed_nodes_go(place: Place) -> None:
    stage = Stage(template("a"), template("b"))
    stage.open()
    kept = stage.keep("a")
    closed = stage.revert("b")
    logs, worktrees = place.directory / "logs", place.directory / "worktrees"
    for folder in (logs, worktrees):
        folder.mkdir(parents=True, exist_ok=True)
    (logs / "a.log").touch()
    (logs / "a.log.1").touch()
    state = stage.state
    reverted = next(n for n in state.tree.nodes.values() if n.status is Status.REVERTED)
    assert closed is None or closed.node_id == reverted.node_id
    for node in (kept, reverted):
        (worktrees / f"bench-a-{(node.commit or '')[:12]}").mkdir()
    before = {path.name for path in worktrees.iterdir()}
    said = carry_out("free_disk", place, state)
    assert len(said) == 2
    assert [path.name for path in sorted(logs.glob("a.*"))] == ["a.log"]
    gone = before - {path.name for path in worktrees.iterdir()}
    assert gone == {f"bench-a-{(reverted.commit or '')[:12]}"}


@pytest.mark.parametrize("step", ["none", "retry", "end_leftovers"])
def test_other_steps_touch_no_file(step: RemedyStep, place: Place, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "x").touch()
    assert carry_out(step, place, CampaignState()) == ()
    assert (tmp_path / "cache" / "x").exists()


def test_a_busy_port_is_tried_again_and_a_missing_package_is_not() -> None:
    for message, num_dispatches in (
        ("OSError: [Errno 98] Address already in use", 2),
        ("ModuleNotFoundError: No module named 'fast'", 1),
        ("RuntimeError: no such kernel", 1),
    ):
        stage = Stage(template("a"))
        stage.open()
        stage.break_work("a", message)
        stage.turn()
        assert len(stage.of_kind(ActionDispatched)) == num_dispatches, message


def test_the_next_attempt_knows_what_to_clean() -> None:
    stage = Stage(template("a"))
    stage.open()
    action = stage.action_of("a")
    assert step_of_action(stage.state, action) == "none"
    stage.break_work("a", "OSError: [Errno 28] No space left on device")
    stage.turn()
    assert step_of_action(stage.state, action) == "free_disk"
    assert step_of_action(stage.state, "a999") == "none"


def test_a_measurement_is_asked_again_after_its_cause_is_known() -> None:
    stage = Stage(template("a"))
    stage.open()
    stage.work("a")
    stage.turn()
    first = stage.request("accuracy")
    stage.break_measurement(
        "accuracy", "OSError: [Errno 98] Address already in use", is_candidate=False
    )
    stage.turn()
    again = stage.request("accuracy")
    assert again.asked.request_id != first.asked.request_id
    assert step_of_request(stage.state, again) == "end_leftovers"


def test_what_was_cleaned_stands_in_the_log(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path)
    simulation.run()
    started = simulation.of_kind(AttemptStarted)
    assert started
    assert all(event.remedies == () for event in started)
