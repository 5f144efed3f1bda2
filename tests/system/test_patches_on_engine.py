"""A campaign on the real engine in which a scripted model patches its sources (minutes).

No gate has seen these patches before: one makes the sampler really faster, one answers wrongly,
one breaks, one edits the benchmark.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path

import pytest

from arbor.actors.founding import found
from arbor.actors.ideas import Idea, Ideas
from arbor.actors.journal import Journal
from arbor.actors.local import LocalCampaign
from arbor.actors.place import Place
from arbor.actors.specialists.desk import Change, Plan
from arbor.core.campaign import Campaign
from arbor.core.clock import SystemClock
from arbor.core.models import Model
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.blobs import BlobStore
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.judgement import RootCauseFound
from arbor.events.outcome import ActionKept, Crashed
from arbor.events.parquet_log import ParquetLog
from arbor.events.types import Layer
from arbor.events.work import FeedbackCollected, PatchRefused
from arbor.replay.audit import audit
from arbor.targets.engine.config import EngineTargetConfig
from arbor.targets.engine.model_cache import SyntheticModel
from arbor.targets.engine.server.overlay import editable_sources
from arbor.targets.hardware import probe_hardware
from arbor.targets.workspace import Workspace
from tests.fakes.engine_without_catalog import EngineWithoutCatalog
from tests.fakes.scripted_model import Asked, ScriptedModel, Words

pytestmark = pytest.mark.system

_SORT = """        ordered, order = torch.sort(row / parameters.temperature, descending=True)
        if 0 < parameters.top_k < len(ordered):
            ordered[parameters.top_k :] = float("-inf")
"""
_SELECT = """        scaled = row / parameters.temperature
        if 0 < parameters.top_k < len(scaled):
            ordered, order = torch.topk(scaled, parameters.top_k)
        else:
            ordered, order = torch.sort(scaled, descending=True)
"""
_NORM = "return weight * (exact * scale).to(rows.dtype)"
_CONTEXT = """        key, value = self._cache.context(layer, part)
        group"""
WIDE = SyntheticModel(vocab_size=65_536, width=64, num_layers=2, ffn_width=176, max_positions=512)
"""A small model with a large vocabulary, so that sampling takes most of the time."""
FAST = "Select the largest logits instead of sorting all"
WRONG = "A smaller scale of the norm"
CRASH = "Ask the cache for a contiguous context"
CHEAT = "Start the clock later"
WINDOW = "arbor/targets/engine/window.py"


def _patch(name: str, old: str, new: str) -> str:
    before = editable_sources()[name].decode()
    assert before.count(old) == 1
    after = before.replace(old, new)
    path = f"overlay/{name}"
    lines = unified_diff(
        before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm=""
    )
    return "\n".join(lines)


DIFFS = {
    FAST: _patch("sampler.py", _SORT, _SELECT),
    WRONG: _patch("elementwise.py", _NORM, f"{_NORM} * 0.25"),
    CRASH: _patch("attention.py", _CONTEXT, _CONTEXT.replace("part)", "part, True)")),
    CHEAT: f"--- a/{WINDOW}\n+++ b/{WINDOW}\n@@ -1 +1 @@\n-begin = now()\n+begin = now() + 1\n",
}
_FILES = {
    FAST: "overlay/sampler.py",
    WRONG: "overlay/elementwise.py",
    CRASH: "overlay/attention.py",
    CHEAT: "overlay/scheduler.py",
}


def _script(asked: Asked) -> Words:
    if asked.role == "orchestrator":
        return Ideas(
            ideas=[
                Idea(title=title, reason=title, layer=Layer.KERNEL, files=[path])
                for title, path in _FILES.items()
            ]
        )
    if asked.role == "critic":
        return "the cache takes two arguments"
    title = next(title for title in DIFFS if title in asked.text)
    return Plan(steps=[title]) if asked.role == "planner" else Change(diff=DIFFS[title])


@dataclass
class Patched:
    """The campaign when it is over."""

    directory: Path
    log: ParquetLog
    place: Place
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel(_script))

    def state(self) -> CampaignState:
        """Return the state of the whole log."""
        state = CampaignState()
        for recorded in self.log.read():
            state.apply(recorded)
        return state

    def outcome(self, title: str) -> tuple[Status | None, str]:
        """Return the latest outcome of an idea and its reason."""
        tree = self.state().tree
        action = [
            a for a in tree.actions.values() if tree.templates[a.template_id].title == title
        ][-1]
        return action.outcome, tree.node(action.node_id or "").reason


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Patched]:
    directory = tmp_path_factory.mktemp("patched")
    target = EngineWithoutCatalog(EngineTargetConfig(synthetic=WIDE))
    model = ScriptedModel(_script)

    def create_model(_journal: Journal) -> Model:
        return model

    place = Place(
        target,
        Workspace(directory / "workspace"),
        BlobStore(directory / "blobs"),
        directory,
        create_model=create_model,
    )
    campaign = Campaign.model_validate(
        {
            "budget": {"wall": "15m"},
            "search": {"parallel": 1},
            "measure": {"soak_s": 0},
            "patches": {"rounds": 1},
        }
    )
    log = ParquetLog.open(directory / "log", "patched", create=True)
    try:
        found(place, log, campaign, probe_hardware(), SystemClock())
        LocalCampaign(place, log, SystemClock()).run()
        yield Patched(directory, log, place, model)
    finally:
        log.close()
        target.close()


def test_the_patch_that_is_faster_is_kept_and_runs_in_the_final_stack(patched: Patched) -> None:
    assert patched.outcome(FAST) == (Status.KEPT, "")
    keeps = [r.event for r in patched.log.read() if isinstance(r.event, ActionKept)]
    (keep,) = [each for each in keeps if each.edits[0].key == "overlay.sampler.py"]
    assert keep.effect.low > 1.0
    final = patched.state().tree.current.commit or ""
    assert "torch.topk(scaled" in patched.place.workspace.files(final)["overlay/sampler.py"]


def test_its_witness_is_the_digest_that_the_server_reports(patched: Patched) -> None:
    keeps = {r.event.node_id for r in patched.log.read() if isinstance(r.event, ActionKept)}
    measured = [
        r.event
        for r in patched.log.read()
        if isinstance(r.event, BenchmarkMeasured) and r.event.node_id in keeps
    ]
    assert measured
    assert all(event.has_witness for event in measured)


def test_the_patch_that_answers_wrongly_is_reverted(patched: Patched) -> None:
    outcome, reason = patched.outcome(WRONG)
    assert outcome is Status.REVERTED
    assert reason.startswith("accuracy: ")


def test_the_patch_that_breaks_is_a_crash_with_its_root_cause(patched: Patched) -> None:
    outcome, _ = patched.outcome(CRASH)
    assert outcome is Status.CRASHED
    crashes = [r.event for r in patched.log.read() if isinstance(r.event, Crashed)]
    assert {each.patch_files for each in crashes} == {("overlay/attention.py",)}
    causes = [r.event for r in patched.log.read() if isinstance(r.event, RootCauseFound)]
    assert causes
    assert not any(each.blames_idea for each in causes)
    told = "\n".join(
        patched.place.blobs.get(r.event.blob_digest or "").decode()
        for r in patched.log.read()
        if isinstance(r.event, FeedbackCollected) and r.event.source == "debugger"
    )
    assert "TypeError" in told


def test_the_patch_of_the_benchmark_is_refused(patched: Patched) -> None:
    outcome, reason = patched.outcome(CHEAT)
    assert outcome is Status.REFUSED
    assert reason.startswith(f"it touches {WINDOW}: benchmark, gate data and harness")
    (refused,) = [r.event for r in patched.log.read() if isinstance(r.event, PatchRefused)]
    assert refused.paths == (WINDOW,)


def test_the_audit_recomputes_all_of_it(patched: Patched) -> None:
    report = audit(patched.directory)
    assert [problem.text for rule in report.rules for problem in rule.problems] == []
