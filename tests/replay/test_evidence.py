"""Every node shows its samples, its verdicts and both keys, in the order of the tree."""

import math
import re
from pathlib import Path

import pytest

from arbor.core.tree import ROOT_ID, Status
from arbor.events.base import Recorded
from arbor.events.evidence import PairMeasured
from arbor.events.judgement import MeasurementFlagged, MeasurementJudged
from arbor.events.outcome import ActionKept
from arbor.replay.evidence import PAIR_HEADER, Entry, entries, pair_cells
from arbor.replay.report import markdown_report, tell
from arbor.replay.report_html import html_report
from arbor.replay.result import RunFacts, result_of
from arbor.replay.result_models import Result
from arbor.replay.story import Story
from tests.fakes.simulation import Simulation
from tests.replay.recorded import changed


@pytest.fixture(scope="module")
def told(finished: Path) -> tuple[Result, Story]:
    return tell(finished)


@pytest.fixture(scope="module")
def shown(told: tuple[Result, Story]) -> dict[str, Entry]:
    result, story = told
    return {entry.node_id: entry for entry in entries(story, result) if entry.status != "final"}


def test_every_pair_of_the_log_is_shown(
    told: tuple[Result, Story], history: tuple[Recorded, ...]
) -> None:
    result, story = told
    seen = [pair for entry in entries(story, result) for pair in entry.pairs]
    requests = story.state.requests.by_id
    counted = [
        r.event
        for r in history
        if isinstance(r.event, PairMeasured)
        and r.event.attempt_id == requests[r.event.request_id].attempt_id
    ]
    assert sorted(seen, key=lambda p: (p.request_id, p.pair)) == sorted(
        counted, key=lambda p: (p.request_id, p.pair)
    )
    page, markdown = html_report(result, story, "DIR"), markdown_report(result, story, "DIR")
    for pair in seen:
        for cell in (f"{pair.log_ratio:+.4f}", f"{pair.candidate.throughput_tok_s:,.1f}"):
            assert cell in page
            assert cell in markdown.replace("\\", "")


def test_a_pair_says_whether_it_counts(shown: dict[str, Entry]) -> None:
    pair = next(entry.pairs[0] for entry in shown.values() if entry.pairs)
    cells = dict(zip(PAIR_HEADER, pair_cells(pair), strict=True))
    assert cells["counts"] == "yes"
    flawed = pair.model_copy(
        update={"is_valid": False, "flaw": "busy", "is_candidate_first": False}
    )
    cells = dict(zip(PAIR_HEADER, pair_cells(flawed), strict=True))
    assert (cells["counts"], cells["first"]) == ("no: busy", "incumbent")


def test_both_keys_have_their_positions(
    shown: dict[str, Entry], history: tuple[Recorded, ...], told: tuple[Result, Story]
) -> None:
    judged = {
        r.event.request_id: r.position for r in history if isinstance(r.event, MeasurementJudged)
    }
    kept = [r for r in history if isinstance(r.event, ActionKept)]
    assert kept
    for recorded in kept:
        assert isinstance(recorded.event, ActionKept)
        facts = dict(shown[recorded.event.node_id].facts)
        assert f"kept it at position {recorded.position}" in facts["keys"]
        for purpose in ("accuracy", "benchmark"):
            request = told[1].state.measurement_of(recorded.event.node_id, purpose)
            assert request is not None
            at = judged[request.asked.request_id]
            assert f"{purpose} at position {at}" in facts["keys"]
            assert facts[f"{purpose} judged"].startswith(f"accepted at position {at}: ")
        assert facts["took effect"].startswith("witnessed: ")
        assert "KL " in facts["accuracy"]
        assert facts.get("guardrails") == "nothing found" or "(note)" in facts["guardrail"]


def test_guardrails_speak_with_severity_and_evidence(eventful: Simulation) -> None:
    """Load on both arms is suspect, not invalid: the keep stands and the finding is shown."""
    story = Story()
    for recorded in eventful.events():
        story.apply(recorded)
    request = next(
        r
        for r in story.state.requests.by_id.values()
        if r.asked.purpose == "benchmark" and r.result
    )
    request.flags.append(
        MeasurementFlagged(
            request_id=request.asked.request_id,
            rule="foreign_load",
            severity="suspect",
            evidence="40% of the cores",
        )
    )
    found = next(
        entry
        for entry in entries(story, result_of(story, "c", "0" * 64, RunFacts()))
        if entry.node_id == request.asked.node_id
    )
    assert ("guardrail", "foreign_load (suspect): 40% of the cores") in found.facts


def test_nodes_follow_the_tree(told: tuple[Result, Story]) -> None:
    _, story = told
    order = [node.node_id for node in story.in_tree_order()]
    assert sorted(order) == sorted(story.state.tree.nodes)
    assert order[0] == ROOT_ID
    for node in story.state.tree.nodes.values():
        if node.parent_id is not None:
            assert order.index(node.parent_id) < order.index(node.node_id)
    path = [node.node_id for node in story.path()]
    assert order[-1] == path[-1] or story.state.tree.nodes[order[-1]].parent_id == path[-1]


def test_kept_nodes_are_open_and_every_node_has_a_section(told: tuple[Result, Story]) -> None:
    result, story = told
    page, markdown = html_report(result, story, "DIR"), markdown_report(result, story, "DIR")
    kept = [n for n in result.nodes if n.status is Status.KEPT and n.node_id != ROOT_ID]
    assert page.count("<details open>") == len(kept) + 1, "and the final claim"
    shown = [n for n in result.nodes if n.status is not Status.REBASED]
    assert len(re.findall(r"^### ", markdown, re.MULTILINE)) == len(shown) + 1
    assert page.count("<details") == len(shown) + 1


def test_shrunk_effects_stand_beside_the_measured_ones(told: tuple[Result, Story]) -> None:
    result, story = told
    measured = [n for n in result.nodes if n.effect is not None]
    for node in measured:
        assert node.effect is not None
        assert node.shrunk_ratio is not None
        assert abs(math.log(node.shrunk_ratio)) <= abs(math.log(node.effect.ratio))
    on_path = {node.node_id for node in story.path()}
    shrunk = [n.shrunk_ratio or 1.0 for n in result.nodes if n.node_id in on_path]
    assert result.shrunk_path_ratio == pytest.approx(math.prod(shrunk))
    assert 1.0 < result.shrunk_path_ratio < result.path_ratio
    for text in (html_report(result, story, "DIR"), markdown_report(result, story, "DIR")):
        assert f"to {result.shrunk_path_ratio:.3f}x" in text
        assert f"multiply to {result.path_ratio:.3f}x" in text


def test_flaws_are_escaped_and_shown(history: tuple[Recorded, ...]) -> None:
    position = next(r.position for r in history if isinstance(r.event, PairMeasured))
    story = Story()
    for recorded in changed(history, position, is_valid=False, flaw="<b>|busy|"):
        story.apply(recorded)
    result = result_of(story, "c", "0" * 64, RunFacts())
    baseline = next(entry for entry in entries(story, result) if entry.status == "baseline")
    assert pair_cells(baseline.pairs[0])[-1] == "no: <b>|busy|"
    markdown = markdown_report(result, story, "DIR")
    assert "no: \\<b\\>\\|busy\\|" in markdown
    assert "<b>|busy|" not in html_report(result, story, "DIR")
