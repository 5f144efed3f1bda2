"""Commands of people on a campaign that stands still: one event, one line, or one error."""

import getpass
import shutil
from pathlib import Path

import pytest

from arbor.actors.ownership import hold_directory
from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.layout import CampaignDirectory
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.base import Draft, Recorded
from arbor.events.ids import uuid7
from arbor.events.limits import ConstraintPublished
from arbor.events.parquet_log import ParquetLog
from arbor.events.settings import MeasureSettings, SearchSettings
from arbor.events.types import ConstraintScope, LiftCondition, ValueRange
from arbor.replay.reading import open_campaign
from tests.cli.test_commands import arbor, error, output
from tests.fakes.recording import START
from tests.replay.recorded import Recorder

COMMANDS = (
    ("veto", "a001"),
    ("approve", "a001"),
    ("propose", "lossy"),
    ("pause",),
    ("resume-campaign",),
    ("forbid", "lossy"),
    ("lift", "c001"),
)


@pytest.fixture(scope="session")
def _interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("interrupted") / "campaign"
    directory.mkdir()
    campaign = Campaign(
        name="demo",
        target="landscape",
        budget=CampaignBudget(wall=320.0),
        search=SearchSettings(tuning_trials=3, require_approval=("liar",)),
        measure=MeasureSettings(max_pairs=8),
    )
    log, local = Recorder(directory, campaign, compact_after=10_000).open(None)
    local.start()
    while not any(a.outcome is Status.KEPT for a in local.state.tree.actions.values()):
        assert local.step()
    limit = ConstraintPublished(
        constraint_id="c900", scope=ConstraintScope(template_id="lossy"), reason="no"
    )
    log.append([Draft(limit, uuid7(START), "human")])
    log.close()
    return directory


@pytest.fixture
def halted(_interrupted: Path, tmp_path: Path) -> Path:
    """A copy of a campaign that nobody runs at the moment."""
    return Path(shutil.copytree(_interrupted, tmp_path / "campaign"))


def _state(directory: Path) -> CampaignState:
    return open_campaign(directory).state()


def _last(directory: Path) -> Recorded:
    return list(open_campaign(directory).events())[-1]


def _kept(directory: Path) -> str:
    actions = _state(directory).tree.actions.values()
    return next(a.action_id for a in actions if a.outcome is Status.KEPT)


def _awaiting(directory: Path) -> str:
    tree = _state(directory).tree
    return next(a.action_id for a in tree.candidates() if a.template_id == "liar")


def test_a_veto_is_one_event_by_the_user_and_one_line(halted: Path) -> None:
    action_id = _kept(halted)
    text = output("veto", halted, action_id, "--reason", "not here")
    recorded = _last(halted)
    assert recorded.actor == f"human:{getpass.getuser()}"
    assert recorded.event.model_dump(include={"kind", "action_id", "reason", "by"}) == {
        "kind": "ActionVetoed",
        "action_id": action_id,
        "reason": "not here",
        "by": recorded.actor,
    }
    assert text.startswith(f"position {recorded.position}: the keep of {action_id}")
    assert text.count("\n") == 1
    assert "vetoed already" in error("veto", halted, action_id)
    assert "vetoed by human:" in output("tree", halted)
    assert output("events", halted, "--kind", "ActionVetoed").count("human:") == 2


def test_a_node_names_its_action(halted: Path) -> None:
    node_id = _state(halted).tree.current_id
    output("veto", halted, node_id)
    assert _last(halted).event.action_id == _kept(halted)


def test_an_approval(halted: Path) -> None:
    action_id = _awaiting(halted)
    assert f"? {action_id}" in output("tree", halted)
    text = output("approve", halted, action_id)
    assert f"{action_id} starts when its turn comes" in text
    assert _state(halted).constraints.approved == {action_id: getpass.getuser()}
    assert f"? {action_id}" not in output("tree", halted)
    assert "approved already" in error("approve", halted, action_id)


def test_a_pause_and_its_end(halted: Path) -> None:
    assert f"`arbor resume-campaign {halted}` goes on" in output("pause", halted)
    assert "paused" in output("tree", halted)
    assert "paused already" in error("pause", halted)
    assert f"`arbor resume {halted}` starts it" in output("resume-campaign", halted)
    assert not _state(halted).is_paused
    assert f"`arbor pause {halted}` pauses it" in error("resume-campaign", halted)


def test_a_constraint_is_lifted(halted: Path) -> None:
    assert "constraint c900" in error("propose", halted, "lossy")
    assert "c900 is lifted; lossy may be tried again" in output("lift", halted, "c900")
    assert not _state(halted).constraints.in_force
    assert "no constraint 'c900'" in error("lift", halted, "c900")


def test_a_constraint_is_published(halted: Path) -> None:
    key = next(k for k, v in _state(halted).tree.root_config.items() if type(v) is int)
    text = output(
        "forbid", halted, "--at-least", f"{key}=9", "--below", "n000", "--for", 60, "--keeps", 2
    )
    limit = _last(halted).event
    assert isinstance(limit, ConstraintPublished)
    assert f"{limit.constraint_id} forbids every action with {key} >= 9, where below n000" in text
    assert limit.scope.ranges == (ValueRange(key=key, low=9.0),)
    assert limit.lift == LiftCondition(after_s=60.0, num_keeps=2)
    assert limit.constraint_id in output("constraints", halted)
    assert "needs a template" in error("forbid", halted)
    assert "no template 'x'" in error("forbid", halted, "x")
    switch = next(k for k, v in _state(halted).tree.root_config.items() if v is False)
    assert "no number: use --edit" in error("forbid", halted, "--at-most", f"{switch}=true")


def test_proposals(halted: Path) -> None:
    waiting = _awaiting(halted)
    template_id = _state(halted).tree.actions[waiting].template_id
    text = output("propose", halted, template_id)
    action = list(_state(halted).tree.actions.values())[-1]
    assert (action.template_id, action.source) == (template_id, "human")
    assert f"{action.action_id} {template_id} is tried next" in text
    assert f"? {action.action_id} {template_id}  proposed by a human" in output("tree", halted)
    assert "on its way already" in error("propose", halted, template_id)
    config = _state(halted).tree.config_at("n000")
    number = next(key for key, value in config.items() if type(value) is int)
    output("propose", halted, "--edit", f"{number}={int(config[number]) * 2 + 1}")
    action = list(_state(halted).tree.actions.values())[-1]
    assert action.template_id == f"edit:{number}={int(config[number]) * 2 + 1}"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("veto", "DIR", "a999"), "no action 'a999'"),
        (("approve", "DIR", "a999"), "no action 'a999'"),
        (("propose", "DIR", "nonsense"), "no template 'nonsense' in the catalog"),
        (("propose", "DIR"), "give a template of the catalog, or --edit"),
        (("propose", "DIR", "lossy", "--edit", "a=b"), "give a template of the catalog, or"),
        (("propose", "DIR", "--edit", "no.such=1"), "no key 'no.such'; known:"),
        (("propose", "DIR", "--edit", "nothing"), "write --edit key=value"),
        (("lift", "DIR", "c001"), "no constraint 'c001' is in force; known: c900"),
    ],
)
def test_mistakes_change_nothing(halted: Path, words: tuple[str, ...], text: str) -> None:
    before = _last(halted)
    assert text in error(*(halted if word == "DIR" else word for word in words))
    assert _last(halted) == before
    assert not CampaignDirectory(halted).inbox.exists()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_mistakes_about_the_directory(
    command: tuple[str, ...], finished: Path, tmp_path: Path
) -> None:
    name, *rest = command
    assert "no directory" in error(name, tmp_path / "none", *rest)
    (tmp_path / "file").write_text("x")
    assert "is a file" in error(name, tmp_path / "file", *rest)
    (tmp_path / "empty").mkdir()
    assert "holds no campaign" in error(name, tmp_path / "empty", *rest)
    ended = error(name, finished, *rest)
    assert f"the campaign has ended; `arbor resume {finished} --budget 10m` goes on" in ended
    ParquetLog.open(tmp_path / "early" / "log", "c").close()
    assert "start was interrupted" in error(name, tmp_path / "early", *rest)


def test_while_somebody_runs_it_a_command_is_queued_and_nothing_is_lost(halted: Path) -> None:
    with hold_directory(halted):
        text = output("pause", halted, "--wait", "0")
    assert text.startswith(f"queued in {halted}/inbox")
    assert not _state(halted).is_paused
    assert "not paused" in arbor("resume-campaign", halted).stderr
    # Its turn comes with the next command that finds nobody at work.
    output("veto", halted, _kept(halted))
    assert _state(halted).is_paused
    assert [path.name for path in CampaignDirectory(halted).inbox.iterdir()] == []


def test_what_is_halted_is_sound_after_all_of_it(halted: Path) -> None:
    output("pause", halted)
    output("approve", halted, _awaiting(halted))
    output("resume-campaign", halted)
    output("lift", halted, "c900")
    output("propose", halted, "lossy")
    output("veto", halted, _kept(halted))
    assert "sound" in output("audit", halted)


def test_an_approval_that_nothing_could_need(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("target: landscape\nsearch: {require_approval: [kernel, warp]}\n")
    for words in (("plan", file), ("run", file, "--dir", tmp_path / "out")):
        assert "search.require_approval names 'warp', which is no layer" in error(*words)
    assert not (tmp_path / "out").exists()
