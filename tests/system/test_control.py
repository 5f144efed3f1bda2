"""People speak to a campaign that runs on Ray: each command is one event, once, and is obeyed."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from arbor.core.layout import CampaignDirectory
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignPaused, CampaignResumed
from arbor.events.choice import ActionDispatched, ActionProposed
from arbor.events.evidence import PairMeasured
from arbor.events.judgement import KeepRevoked
from arbor.events.limits import ActionVetoed
from arbor.events.outcome import ActionKept
from arbor.events.requests import MeasurementRequested
from tests.system.campaigns import Driver, arbor, driver, landscape, only, read_log
from tests.system.invariants import require_sound

pytestmark = pytest.mark.system


@dataclass
class Spoken:
    """A campaign that people spoke to, and what it answered."""

    directory: Path
    seen: list[list[Recorded]]
    lines: dict[str, str]
    vetoed: str


def _state(recorded: list[Recorded]) -> CampaignState:
    state = CampaignState()
    for each in recorded:
        state.apply(each)
    return state


def _say(running: Driver, *words: str) -> str:
    """Say something while the campaign runs; return the line."""
    name, *rest = words
    done = arbor(name, running.directory, *rest)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    return done.stdout


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Spoken:
    # One start of Ray for everything that people may say to a campaign that runs.
    directory = tmp_path_factory.mktemp("control") / "campaign"
    file = landscape(directory.with_suffix(".yaml"), search={"tuning_trials": 4})
    lines: dict[str, str] = {}
    with driver(directory, "run", file, "--dir", directory) as running:
        recorded = running.wait_for(lambda log: len(only(log, ActionKept)) >= 2, "keeps")
        vetoed = only(recorded, ActionKept)[0].action_id or ""
        lines["veto"] = _say(running, "veto", vetoed, "--reason", "not on this machine")
        running.wait_for(lambda log: only(log, KeepRevoked), "revocation")
        lines["pause"] = _say(running, "pause")
        lines["propose"] = _say(running, "propose", "--edit", "batching.max_active=7")
        lines["resume"] = _say(running, "resume-campaign")
        proposed = [e for e in only(read_log(directory), ActionProposed) if e.source == "human"]
        running.wait_for(
            lambda log: any(
                e.action_id == proposed[0].action_id for e in only(log, ActionDispatched)
            ),
            "dispatch of what was proposed",
        )
        refused = arbor("veto", directory, "a999")
        assert refused.returncode == 2
        lines["refused"] = refused.stderr
        assert running.wait() == 0, running.text()
        running.require_no_orphans()
        running.require_quiet()
        return Spoken(directory, running.seen, lines, vetoed)


def test_every_command_is_one_event_by_a_human_at_the_position_that_it_named(
    spoken: Spoken,
) -> None:
    recorded = require_sound(spoken.directory, *spoken.seen)
    said = {r.position: r.event.kind for r in recorded if r.actor.startswith("human:")}
    positions = {
        name: int(line.split()[1].rstrip(":"))
        for name, line in spoken.lines.items()
        if line.startswith("position")
    }
    assert {said[position] for position in positions.values()} == {
        "ActionVetoed",
        "CampaignPaused",
        "ActionProposed",
        "CampaignResumed",
    }
    assert len(said) == len(positions) == 4
    assert list(CampaignDirectory(spoken.directory).inbox.iterdir()) == []
    assert "no action 'a999'" in spoken.lines["refused"]


def test_the_vetoed_keep_was_revoked_and_the_path_rebuilt(spoken: Spoken) -> None:
    recorded = read_log(spoken.directory)
    state = _state(recorded)
    assert [e.action_id for e in only(recorded, ActionVetoed)] == [spoken.vetoed]
    assert state.tree.actions[spoken.vetoed].outcome is Status.REVOKED
    path = state.tree.path(state.tree.current_id)
    assert spoken.vetoed not in {node.action_id for node in path}
    rebuilt = [e for e in only(recorded, ActionProposed) if e.source == "rebuild"]
    assert rebuilt
    assert all(part.action_id != spoken.vetoed for e in rebuilt for part in e.parts)


def test_nothing_started_while_it_was_paused(spoken: Spoken) -> None:
    recorded = read_log(spoken.directory)
    begin = next(r.position for r in recorded if isinstance(r.event, CampaignPaused))
    end = next(r.position for r in recorded if isinstance(r.event, CampaignResumed))
    between = [r.event for r in recorded if begin < r.position < end]
    assert not [e for e in between if isinstance(e, ActionDispatched | MeasurementRequested)]
    assert only(recorded[end:], PairMeasured), "it went on"
