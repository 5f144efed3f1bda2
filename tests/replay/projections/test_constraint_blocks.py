"""What constraints blocked, at every stage, from the log alone."""

from collections.abc import Sequence

from arbor.events.base import Recorded
from arbor.events.choice import ActionWithdrawn
from arbor.events.limits import ConstraintLifted, ConstraintPublished
from arbor.events.settings import MeasureSettings, SearchSettings, Settings
from arbor.events.types import ConstraintScope, Edit, Layer, Parameter, ValueRange
from arbor.events.work import TrialMeasured
from arbor.replay.database import CampaignDatabase
from arbor.replay.projections.constraint_blocks import ConstraintBlocks
from tests.fakes.files import MemoryFiles
from tests.fakes.stage import Stage, template

SIZE = Parameter(key="s.size", kind="int", low=1, high=512)
SETTINGS = Settings(measure=MeasureSettings(soak_s=0.0), search=SearchSettings(parallel=2))


def _forbid(name: str, number: int = 1) -> ConstraintPublished:
    scope = ConstraintScope(template_id=name)
    return ConstraintPublished(constraint_id=f"h{number}", scope=scope, reason="no")


def _stage() -> Stage:
    stage = Stage(
        template("a", prior_speedup_ratio=3.0),
        template("b", prior_speedup_ratio=2.0),
        template("size", Layer.FRAMEWORK, space=(SIZE,), edits=(), prior_speedup_ratio=2.5),
        settings=SETTINGS,
    )
    stage.open()
    return stage


def _blocks(stage: Stage) -> list[tuple[str, str, str, str | None]]:
    fold = ConstraintBlocks()
    for recorded in stage.events():
        fold.apply(recorded)
    return [(row[0], row[1], row[2], row[3]) for row in fold._rows]


def test_nothing_is_blocked_without_constraints() -> None:
    assert _blocks(_stage()) == []


def test_a_candidate_is_not_dispatched() -> None:
    stage = _stage()
    stage.say(_forbid("b"))
    stage.turn()
    assert stage.of_kind(ActionWithdrawn)
    assert ("h1", "dispatch", "b", stage.action_of("b")) in _blocks(stage)
    assert ("h1", "proposal", "b on n000", None) in _blocks(stage)


def test_work_on_its_way_is_stopped() -> None:
    stage = _stage()
    stage.say(_forbid("a"))
    stage.turn()
    assert ("h1", "work", "a", "a001") in _blocks(stage)


def test_a_keep_is_revoked() -> None:
    stage = _stage()
    kept = stage.keep("a")
    stage.say(_forbid("a"))
    stage.turn()
    assert ("h1", "kept", "a", kept.action_id) in _blocks(stage)


def test_a_measured_gain_is_not_kept() -> None:
    stage = _stage()
    stage.work("a")
    stage.turn()
    stage.check_accuracy()
    stage.turn()
    stage.measure(1.4)
    # judged, and forbidden before the keep
    for name in ("critic",):
        stage.reactors[name].run_until_quiet()
    stage.say(_forbid("a"))
    stage.reactors["orchestrator"].run_until_quiet()
    assert ("h1", "keep", "a", "a001") in _blocks(stage)


def test_a_trial_is_not_started() -> None:
    stage = _stage()
    node = stage.node_of("size")
    trial = TrialMeasured(
        action_id=node.action_id,
        trial=1,
        edits=(Edit(key="s.size", value=99),),
        throughput_tok_s=None,
        engine="tpe",
        avoided="constraint h1: too large",
    )
    met = trial.model_copy(update={"trial": 2, "avoided": "trial 1 broke there: oom_runtime"})
    stage.say(trial, met, actor="specialist-x")
    assert _blocks(stage) == [("h1", "trial", "s.size=99", node.action_id)]


def test_a_node_is_named_once_however_often_it_is_looked_at() -> None:
    stage = _stage()
    ranges = (ValueRange(key="s.size", low=1.0),)
    scope = ConstraintScope(template_id="", ranges=ranges)
    stage.say(ConstraintPublished(constraint_id="h1", scope=scope, reason="no"))
    stage.say(_forbid("nothing", 2))
    stage.say(ConstraintLifted(constraint_id="h2", reason="x"))
    stage.turn()
    proposals = [row for row in _blocks(stage) if row[1] == "proposal"]
    assert proposals == [("h1", "proposal", "size on n000", None)]


def test_the_projection_is_a_table(eventful_log: Sequence[Recorded]) -> None:
    fold = ConstraintBlocks()
    for recorded in eventful_log:
        fold.apply(recorded)
    with CampaignDatabase(MemoryFiles(eventful_log, len(eventful_log))) as database:
        rows = database.query("select * from constraint_blocks order by position").rows
    assert sorted(map(repr, rows)) == sorted(map(repr, fold.rows()))
    assert rows
