"""The result says what the log says, and plainly what it does not know."""

import json
from pathlib import Path

import pytest

from arbor.core.tree import Status
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.errors import InvalidInputError
from arbor.events.evidence import AccuracyMeasured, BenchmarkMeasured
from arbor.events.outcome import ActionKept
from arbor.replay.reading import open_campaign
from arbor.replay.report import markdown_report
from arbor.replay.report_html import html_report
from arbor.replay.result import (
    RunFacts,
    build_result,
    read_run_facts,
    result_of,
    save_run_facts,
    write_result,
)
from arbor.replay.result_models import Result
from arbor.replay.story import Story
from arbor.replay.wording import exact_basis
from tests.replay.recorded import DOWNTIME_S, changed


@pytest.fixture(scope="module")
def result(finished: Path) -> Result:
    return build_result(finished)


def test_gain_is_the_final_measurement(result: Result, history: tuple[Recorded, ...]) -> None:
    finals = [
        r.event
        for r in history
        if isinstance(r.event, BenchmarkMeasured) and r.event.purpose == "revalidation"
    ]
    assert result.gain is not None
    assert result.gain.ratio == finals[-1].effect.ratio
    assert (result.gain.low, result.gain.high) == (
        finals[-1].effect.low,
        finals[-1].effect.high,
    )
    assert result.gain.is_accepted
    assert result.gain.metric == "throughput_tok_s"
    assert result.gain.baseline_commit == result.campaign.root_commit
    assert result.gain.final_tok_s is not None
    assert result.gain.baseline_tok_s is not None
    assert result.gain.final_tok_s > result.gain.baseline_tok_s


def test_accuracy_is_that_of_the_final_node(result: Result, history: tuple[Recorded, ...]) -> None:
    samples = [
        r.event.sample
        for r in history
        if isinstance(r.event, AccuracyMeasured) and r.event.node_id == result.final_node_id
    ]
    assert result.accuracy is not None
    assert result.accuracy.kl_mean_high == samples[-1].kl_mean_high
    assert result.accuracy.within_gate
    assert result.accuracy.is_exact
    assert result.accuracy.top1_agreement_low_ratio == samples[-1].top1_agreement_low_ratio
    assert result.accuracy.task == samples[-1].task
    assert (result.accuracy.batches, result.accuracy.context_tokens) == ((1, 8), 1024)


def test_exact_part_of_an_exact_stack_is_the_whole(result: Result) -> None:
    kept = [n for n in result.nodes if n.status is Status.KEPT and n.parent_id is not None]
    assert result.exact.is_whole
    assert result.exact.node_id == result.final_node_id
    assert result.exact.commit == result.final_commit
    assert result.exact.num_actions == len(kept)
    assert result.exact.estimated_ratio == result.exact.whole_estimated_ratio > 1.0
    assert all(n.claims_exact for n in kept)


def test_exact_part_ends_before_the_first_change_of_numerics(
    history: tuple[Recorded, ...], result: Result
) -> None:
    """The same campaign, had the template of its last keep said that it changes numerics."""
    last = next(n for n in result.nodes if n.node_id == result.final_node_id)
    position, started = next(
        (r.position, r.event) for r in history if isinstance(r.event, CampaignStarted)
    )
    actions = tuple(
        t.model_copy(update={"is_exact": t.template_id != last.template_id})
        for t in started.actions
    )
    story = Story()
    for recorded in changed(history, position, actions=actions):
        story.apply(recorded)
    lossy = result_of(story, "c", "0" * 64, RunFacts())
    assert lossy.accuracy is not None
    assert not lossy.accuracy.is_exact
    assert not lossy.exact.is_whole
    assert lossy.exact.node_id == last.parent_id
    assert lossy.exact.estimated_ratio < lossy.exact.whole_estimated_ratio
    page = html_report(lossy, story, "DIR")
    markdown = markdown_report(lossy, story, "DIR")
    for text in (page, markdown):
        assert f"up to {last.parent_id}" in text
        assert f"{lossy.exact.estimated_ratio:.3f}x as the product" in text


def test_counts_and_nodes(result: Result, history: tuple[Recorded, ...]) -> None:
    assert result.counts.kept == sum(isinstance(r.event, ActionKept) for r in history)
    by_status = [n.status for n in result.nodes]
    assert result.counts.reverted == by_status.count(Status.REVERTED)
    assert result.counts.crashed == by_status.count(Status.CRASHED) == 1
    crashed = next(n for n in result.nodes if n.status is Status.CRASHED)
    assert crashed.root_cause == "incompatible_settings (bad_flag)"
    kept = [n for n in result.nodes if n.status is Status.KEPT and n.parent_id is not None]
    assert all(n.has_witness and n.effect is not None and n.seconds for n in kept)
    assert {j.purpose for n in kept for j in n.judgements} == {"accuracy", "benchmark"}


def test_time_leaves_downtime_out(finished: Path, result: Result) -> None:
    recording = open_campaign(finished)
    story = Story()
    recording.fold(story)
    assert story.last_at is not None
    assert story.started_at is not None
    elapsed_s = (story.last_at - story.started_at).total_seconds()
    assert result.wall_s == pytest.approx(elapsed_s - DOWNTIME_S)
    assert result.wall_s == pytest.approx(story.state.budget.elapsed_s(story.last_at))
    assert sum(result.seconds_by_purpose.values()) == pytest.approx(result.wall_s)


def test_final_configuration_holds_all_edits(result: Result) -> None:
    for node in result.nodes:
        if node.status is Status.KEPT:
            assert all(result.final_config[e.key] == e.value for e in node.edits)


def test_json_comes_back_equal(result: Result) -> None:
    text = result.model_dump_json()
    assert Result.model_validate_json(text) == result
    assert result.gain is not None
    assert json.loads(text)["gain"]["ratio"] == result.gain.ratio


def test_without_a_final_measurement_gain_is_null(history: tuple[Recorded, ...]) -> None:
    story = Story()
    for recorded in history[: len(history) // 2]:
        story.apply(recorded)
    result = result_of(story, "c", "0" * 64, RunFacts())
    assert result.gain is None
    assert "not been measured" in result.gain_reason
    assert not result.campaign.is_ended


def test_baseline_alone_has_no_accuracy(history: tuple[Recorded, ...]) -> None:
    story = Story()
    for recorded in history[:12]:
        story.apply(recorded)
    result = result_of(story, "c", "0" * 64, RunFacts())
    assert result.accuracy is None
    assert "baseline itself" in result.accuracy_reason
    assert result.exact.is_whole
    assert (result.exact.num_actions, result.exact.estimated_ratio) == (0, 1.0)
    assert "frozen baseline itself" in exact_basis(result)


def test_run_facts_are_kept_beside_the_log(campaign: Path) -> None:
    assert build_result(campaign).start_s is None
    save_run_facts(campaign, RunFacts(start_s=3.5, peak_rss_bytes=1000))
    result = build_result(campaign)
    assert (result.start_s, result.peak_rss_bytes) == (3.5, 1000)
    assert build_result(campaign, RunFacts(start_s=1.0)).start_s == 1.0
    path = write_result(campaign, result)
    assert Result.model_validate_json(path.read_text()) == result


def test_damaged_run_facts_are_one_line(campaign: Path) -> None:
    (campaign / "run_facts.json").write_text("{")
    with pytest.raises(InvalidInputError, match="delete it"):
        read_run_facts(campaign)
