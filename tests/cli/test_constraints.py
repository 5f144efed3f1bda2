"""`arbor constraints` shows every constraint with what it blocked."""

import json
from pathlib import Path

import pytest

from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.layout import CampaignDirectory
from arbor.events.base import Draft
from arbor.events.ids import uuid7
from arbor.events.limits import ConstraintLifted, ConstraintPublished
from arbor.events.parquet_log import ParquetLog
from arbor.events.settings import MeasureSettings, SearchSettings
from arbor.events.types import ConstraintScope, LiftCondition
from tests.cli.test_commands import output
from tests.fakes.recording import START
from tests.replay.recorded import Recorder


@pytest.fixture
def limited(tmp_path: Path) -> Path:
    """A campaign that stands still, with a constraint in force and one that was lifted."""
    directory = tmp_path / "campaign"
    directory.mkdir()
    campaign = Campaign(
        name="demo",
        target="landscape",
        budget=CampaignBudget(wall=320.0),
        search=SearchSettings(tuning_trials=3),
        measure=MeasureSettings(max_pairs=8),
    )
    log, local = Recorder(directory, campaign, compact_after=10_000).open(None)
    local.start()
    for _ in range(4):
        assert local.step()
    scope = ConstraintScope(template_id="lossy")
    standing = ConstraintPublished(
        constraint_id="c900",
        scope=scope,
        reason="accuracy",
        evidence=("line 1", "line 2"),
        lift=LiftCondition(num_keeps=2),
    )
    ended = ConstraintPublished(
        constraint_id="c901", scope=ConstraintScope(template_id="liar"), reason="no"
    )
    lifted = ConstraintLifted(constraint_id="c901", reason="fixed")
    log.append([Draft(event, uuid7(START), "human") for event in (standing, ended, lifted)])
    log.close()
    return directory


def test_it_shows_why_until_when_and_what_was_blocked(limited: Path) -> None:
    text = output("constraints", limited)
    first, second = text.split("c901")
    assert "c900  lossy" in first
    assert "because   accuracy" in first
    assert "evidence  line 1" in first
    assert "in force  ends after 2 further keeps" in first
    assert "blocked   1 at proposal: lossy on n" in first
    assert "is over" in second
    assert "fixed" in second


def test_json_has_all_of_it(limited: Path) -> None:
    standing, ended = json.loads(output("constraints", limited, "--json"))[-2:]
    assert standing["constraint_id"] == "c900"
    assert standing["is_in_force"]
    assert standing["scope"] == {"template_id": "lossy"}
    assert standing["lift"] == {"num_keeps": 2}
    assert standing["evidence"] == ["line 1", "line 2"]
    assert [each["stage"] for each in standing["blocked"]] == ["proposal"]
    assert not ended["is_in_force"]
    assert ended["lifted_because"] == "fixed"


def test_a_moment_before_the_first_one_has_none(limited: Path) -> None:
    assert "no constraint was published" in output("constraints", limited, "--at", "3")


def test_what_it_shows_is_what_the_log_holds(limited: Path) -> None:
    log = ParquetLog.open(CampaignDirectory(limited).log, "campaign-1")
    published = [r.event for r in log.read() if isinstance(r.event, ConstraintPublished)]
    log.close()
    shown = json.loads(output("constraints", limited, "--json"))
    assert [each["constraint_id"] for each in shown] == [p.constraint_id for p in published]
