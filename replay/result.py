"""The machine-readable result of a campaign: a fold over its log."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from arbor.core.layout import CampaignDirectory
from arbor.core.requests import Request
from arbor.core.tree import ROOT_ID, Node, Status
from arbor.events.errors import InvalidInputError
from arbor.events.evidence import AccuracyMeasured, BenchmarkMeasured
from arbor.events.types import WindowSample
from arbor.replay.reading import open_campaign
from arbor.replay.result_models import (
    Accuracy,
    CampaignFacts,
    Counts,
    ExactPart,
    Flag,
    Gain,
    Judgement,
    Latency,
    NodeResult,
    Result,
    ResultModel,
    Soak,
)
from arbor.replay.story import Story, mean_throughput_tok_s, valid

FACTS_FILE = "run_facts.json"
"""Beside the log: what only the driver of the last session knows."""


class RunFacts(ResultModel):
    """What the driver measures about itself; never part of a decision."""

    start_s: float | None = None
    """Seconds from the command to the first event, Ray's start included."""
    peak_rss_bytes: int | None = None
    """Largest resident memory of Arbor's own processes."""


def save_run_facts(directory: Path, facts: RunFacts) -> None:
    """Keep what the driver knows beside the log, for later reports."""
    write_text(directory / FACTS_FILE, facts.model_dump_json(indent=2) + "\n")


def read_run_facts(directory: Path) -> RunFacts:
    """Return what the driver of the last session knew; empty when it left nothing.

    Raises:
        InvalidInputError: the file is there and cannot be understood.
    """
    path = directory / FACTS_FILE
    try:
        return RunFacts.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return RunFacts()
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read: delete it to go on") from error


def build_result(directory: Path, extras: RunFacts | None = None) -> Result:
    """Return the result of a campaign, finished or not.

    Args:
        directory: the campaign's directory.
        extras: what the driver knows; read from the directory when None.

    Raises:
        NotFoundError: there is no campaign.
        InvalidInputError: another version wrote it.
        CorruptLogError: the log is damaged.
    """
    recording = open_campaign(directory)
    story = Story()
    recording.fold(story)
    facts = read_run_facts(directory) if extras is None else extras
    return result_of(story, recording.reader.campaign_id, recording.reader.head().digest, facts)


def result_of(story: Story, campaign_id: str, log_digest: str, facts: RunFacts) -> Result:
    """Return the result of a campaign that was folded already."""
    state = story.state
    tree = state.tree
    started = state.started
    if started is None or story.started_at is None:
        raise InvalidInputError("the log has no CampaignStarted: there is nothing to report")
    gain, gain_reason = _gain(story)
    accuracy, accuracy_reason = _accuracy(story)
    shrunk = story.shrunk_ratios()
    return Result(
        gain=gain,
        gain_reason=gain_reason,
        soak=_soak(story),
        accuracy=accuracy,
        accuracy_reason=accuracy_reason,
        path_ratio=tree.gain_ratio(tree.current_id),
        shrunk_path_ratio=math.prod(shrunk.get(node.node_id, 1.0) for node in story.path()),
        exact=_exact(story),
        counts=_counts(story),
        wall_s=story.time.wall_s,
        overhead_ratio=story.time.overhead_ratio,
        seconds_by_purpose=dict(sorted(story.time.seconds.items())),
        start_s=facts.start_s,
        peak_rss_bytes=facts.peak_rss_bytes,
        num_events=story.num_events,
        log_digest=log_digest,
        final_node_id=tree.current_id,
        final_commit=tree.current.commit or state.root_commit,
        final_config=tree.config_at(tree.current_id),
        nodes=tuple(_node(story, node, shrunk) for node in tree.nodes.values()),
        campaign=CampaignFacts(
            campaign_id=campaign_id,
            name=started.name,
            target=started.target,
            objective=started.objective,
            hardware=started.hardware,
            settings=started.settings,
            root_commit=started.root_commit,
            arbor_version=started.arbor_version,
            started_at=story.started_at.isoformat(),
            is_ended=state.is_ended,
            end_reason=story.ended.reason if story.ended is not None else None,
        ),
    )


def _gain(story: Story) -> tuple[Gain | None, str]:
    state = story.state
    request = story.final_request()
    current = state.tree.current_id
    if request is None:
        return None, "the final stack has not been measured against the baseline yet"
    if request.crash is not None:
        return None, f"the final measurement failed: {request.crash.message}"
    result = request.result
    if not isinstance(result, BenchmarkMeasured) or request.judgement is None:
        return None, "the final measurement is not finished"
    if request.asked.node_id != current:
        return None, f"the last final measurement was of {request.asked.node_id}, not {current}"
    invalid = [flag for flag in request.flags if flag.severity == "invalid"]
    if invalid:
        return None, f"the final measurement is invalid: {invalid[0].rule}: {invalid[0].evidence}"
    pairs = valid(request.pairs)
    gain = Gain(
        metric=state.started.objective if state.started is not None else "",
        ratio=result.effect.ratio,
        low=result.effect.low,
        high=result.effect.high,
        alpha=result.effect.alpha,
        num_pairs=result.effect.num_pairs,
        num_starts_per_arm=result.effect.num_starts_per_arm,
        baseline_tok_s=mean_throughput_tok_s(pair.incumbent for pair in pairs),
        final_tok_s=mean_throughput_tok_s(pair.candidate for pair in pairs),
        baseline_latency=_latency([pair.incumbent for pair in pairs]),
        final_latency=_latency([pair.candidate for pair in pairs]),
        baseline_commit=result.incumbent_commit,
        final_commit=result.commit,
        is_accepted=request.judgement.is_accepted,
    )
    return gain, request.judgement.reason


def _soak(story: Story) -> Soak | None:
    state = story.state
    asked = [
        r
        for r in state.requests.by_id.values()
        if r.asked.purpose == "soak" and r.asked.node_id == state.tree.current_id
    ]
    if not asked:
        return None
    last = asked[-1]
    if last.crash is not None:
        return Soak(is_accepted=False, reason=f"it fell: {last.crash.message}")
    if last.judgement is None:
        return None
    return Soak(is_accepted=last.judgement.is_accepted, reason=last.judgement.reason)


def _latency(windows: Sequence[WindowSample]) -> Latency:
    def median(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return statistics.median(known) if known else None

    return Latency(
        ttft_ms_p50=median(window.ttft_ms_p50 for window in windows),
        ttft_ms_p99=median(window.ttft_ms_p99 for window in windows),
        tpot_ms_p50=median(window.tpot_ms_p50 for window in windows),
        tpot_ms_p99=median(window.tpot_ms_p99 for window in windows),
    )


def _accuracy(story: Story) -> tuple[Accuracy | None, str]:
    tree = story.state.tree
    if tree.current_id == ROOT_ID:
        return None, "the final stack is the frozen baseline itself"
    request = story.state.measurement_of(tree.current_id, "accuracy")
    if request is None or not isinstance(request.result, AccuracyMeasured):
        return None, "the final stack's accuracy was not measured"
    if request.judgement is None:
        return None, "the final stack's accuracy is not judged yet"
    sample = request.result.sample
    accuracy = Accuracy(
        kl_mean=sample.kl_mean,
        kl_mean_high=sample.kl_mean_high,
        top1_agreement_ratio=sample.top1_agreement_ratio,
        top1_agreement_low_ratio=sample.top1_agreement_low_ratio,
        nll_delta=sample.nll_delta,
        nll_delta_high=sample.nll_delta_high,
        task=sample.task,
        greedy_match_ratio=sample.greedy_match_ratio,
        num_tokens=sample.num_tokens,
        num_prompts=sum(len(each.prompts) for each in sample.passes),
        batches=tuple(sorted({each.batch for each in sample.passes})),
        context_tokens=max((each.context_tokens for each in sample.passes), default=0),
        is_exact=tree.claims_exact(tree.current_id),
        within_gate=request.judgement.is_accepted,
    )
    return accuracy, request.judgement.reason


def _exact(story: Story) -> ExactPart:
    tree = story.state.tree
    node = tree.exact_prefix(tree.current_id)
    return ExactPart(
        node_id=node.node_id,
        commit=node.commit or story.state.root_commit,
        num_actions=len(tree.path(node.node_id)) - 1,
        estimated_ratio=tree.gain_ratio(node.node_id),
        whole_estimated_ratio=tree.gain_ratio(tree.current_id),
        is_whole=node.node_id == tree.current_id,
    )


def _counts(story: Story) -> Counts:
    outcomes = [action.outcome for action in story.state.tree.actions.values()]
    return Counts(
        kept=outcomes.count(Status.KEPT),
        reverted=outcomes.count(Status.REVERTED),
        crashed=outcomes.count(Status.CRASHED),
        vetoed=outcomes.count(Status.VETOED),
        refused=outcomes.count(Status.REFUSED),
        withdrawn=outcomes.count(Status.WITHDRAWN),
        revoked=outcomes.count(Status.REVOKED),
    )


def _node(story: Story, node: Node, shrunk: Mapping[str, float]) -> NodeResult:
    tree = story.state.tree
    template = tree.templates.get(node.template_id or "")
    requests = story.state.requests.of_node(node.node_id)
    benchmark = story.benchmark_of(node.node_id)
    action = tree.actions.get(node.action_id or "")
    cause = action.root_cause if action is not None and action.node_id == node.node_id else None
    return NodeResult(
        node_id=node.node_id,
        parent_id=node.parent_id,
        action_id=node.action_id,
        template_id=node.template_id,
        layer=template.layer if template is not None else None,
        category=template.category if template is not None else None,
        status=node.status,
        edits=node.edits,
        commit=node.commit,
        effect=node.effect,
        shrunk_ratio=shrunk.get(node.node_id),
        throughput_tok_s=(
            story.baseline_throughput_tok_s() if node.node_id == ROOT_ID else node.throughput_tok_s
        ),
        accuracy=node.accuracy,
        claims_exact=tree.claims_exact(node.node_id),
        profile=node.profile,
        has_witness=benchmark[1].has_witness if benchmark is not None else None,
        witness_detail=benchmark[1].witness_detail if benchmark is not None else None,
        flags=_flags(requests),
        judgements=tuple(
            Judgement(
                purpose=r.judgement.purpose,
                is_accepted=r.judgement.is_accepted,
                reason=r.judgement.reason,
                position=story.judged_at.get(r.asked.request_id),
            )
            for r in requests
            if r.judgement is not None and r.judgement.purpose in {"accuracy", "benchmark"}
        ),
        kept_position=story.kept_at.get(node.node_id),
        reason=node.reason,
        root_cause=f"{cause.cause} ({cause.cause_group})" if cause is not None else None,
        seconds=story.seconds_of(node.node_id),
    )


def _flags(requests: tuple[Request, ...]) -> tuple[Flag, ...]:
    return tuple(
        Flag(rule=flag.rule, severity=flag.severity, evidence=flag.evidence)
        for request in requests
        for flag in request.flags
    )


def write_text(path: Path, text: str) -> None:
    """Replace a file at once."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def write_result(directory: Path, result: Result) -> Path:
    """Write ``result.json`` and return its path."""
    path = CampaignDirectory(directory).result
    write_text(path, result.model_dump_json(indent=2) + "\n")
    return path
