"""Sentences that every report uses, so that all of them say the same."""

import shlex

from arbor.core.tree import ROOT_ID
from arbor.events.settings import MeasureSettings
from arbor.events.types import AccuracySample, TaskScore
from arbor.replay.result_models import Gain, Result
from arbor.replay.story import Story

SCORE_FORMS = {
    "risk_averse": (
        "Candidates were ranked with the form `risk_averse`:"
        " h = (g + u)(1 - r_acc)(1 - r_crash) m_gap / c + C_s ln N / (1 + n_cat)."
        " u is a quarter of the expected gain of the best action that only this one makes"
        " possible."
        " The paper prints the same terms but u with risk and urgency in the denominator"
        " (`as_printed`), which ranks riskier actions higher against its own text."
    ),
    "as_printed": (
        "Candidates were ranked with the form `as_printed`, exactly as the paper prints it:"
        " h = g / (c (1 - r_acc)(1 - r_crash) m_gap) + C_s ln N / (1 + n_cat)."
        " Risk and urgency stand in the denominator, so a riskier action scores higher;"
        " `risk_averse` is the form that follows the paper's text."
    ),
}
"""What a reader must know about how candidates were ranked."""

PURPOSES = {
    "profile": "profiling",
    "noise": "calibrating noise",
    "accuracy": "checking accuracy",
    "benchmark": "benchmarking pairs",
    "revalidation": "final re-validation",
    "soak": "peak load",
    "screening": "specialists at work",
    "own": "Arbor itself",
}
"""Words for what a lease was taken for."""


def percent(ratio: float) -> str:
    """Return a ratio as a signed change: ``+24.3 %``."""
    return f"{(ratio - 1.0) * 100.0:+.1f} %"


def duration(seconds: float) -> str:
    """Return seconds as ``8.1 s``, ``4 min 05 s`` or ``3 h 12 min``."""
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    if seconds < 3600.0:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest:02d} s"
    hours, rest = divmod(round(seconds / 60), 60)
    return f"{hours} h {rest:02d} min"


def headline(result: Result) -> str:
    """Return the claim in one line, or plainly that there is none."""
    gain = result.gain
    if gain is None:
        return "No final claim"
    if not gain.is_accepted:
        return f"No gain shown: {gain.ratio:.3f}x, interval reaches {gain.low:.3f}x"
    return f"{percent(gain.ratio)} {metric_name(gain.metric)}"


def metric_name(metric: str) -> str:
    """Return words for a metric's field name."""
    return {"throughput_tok_s": "output throughput"}.get(metric, metric.replace("_", " "))


def claim_basis(result: Result) -> str:
    """Return what the headline was measured on."""
    gain = result.gain
    if gain is None:
        return f"There is no final claim: {result.gain_reason}."
    starts = gain.num_starts_per_arm
    return (
        f"The whole stack ({gain.final_commit[:10]}) against the frozen baseline"
        f" ({gain.baseline_commit[:10]}), measured anew after the search with fresh seeds:"
        f" {gain.num_pairs} interleaved pairs of windows over {starts} server"
        f" start{'s' if starts != 1 else ''} per arm;"
        f" {1 - gain.alpha:.0%} interval {gain.low:.3f}x to {gain.high:.3f}x."
    )


def latency_basis(gain: Gain) -> str | None:
    """Return how latency moved in the final measurement, None where it was not measured."""
    before, after = gain.baseline_latency, gain.final_latency
    parts = [
        f"{name} {old:,.1f} to {new:,.1f} ms"
        for name, old, new in (
            ("TTFT p50", before.ttft_ms_p50, after.ttft_ms_p50),
            ("TTFT p99", before.ttft_ms_p99, after.ttft_ms_p99),
            ("TPOT p50", before.tpot_ms_p50, after.tpot_ms_p50),
            ("TPOT p99", before.tpot_ms_p99, after.tpot_ms_p99),
        )
        if old is not None and new is not None
    ]
    if not parts:
        return None
    return f"In the same windows, median over windows: {', '.join(parts)}."


def accuracy_basis(result: Result) -> str:
    """Return how far the final stack is from the baseline."""
    accuracy = result.accuracy
    if accuracy is None:
        return f"No accuracy figure: {result.accuracy_reason}."
    gate = result.campaign.settings.gate
    limit = gate.max_exact_kl if accuracy.is_exact else gate.max_kl_mean
    claim = "claims to be exact" if accuracy.is_exact else "may change numerics within the gate"
    return (
        f"{'Within' if accuracy.within_gate else 'Outside'} the gate over"
        f" {accuracy.num_tokens} teacher-forced tokens of {accuracy.num_prompts} prompts in"
        f" batches of {' and '.join(map(str, accuracy.batches))}, contexts up to"
        f" {accuracy.context_tokens} tokens (the stack {claim}): mean KL"
        f" {accuracy.kl_mean:.2e} nats, upper bound {accuracy.kl_mean_high:.2e} of"
        f" {limit:.2e} allowed; top-1 agreement {accuracy.top1_agreement_ratio:.2%}, lower bound"
        f" {accuracy.top1_agreement_low_ratio:.2%} (at least"
        f" {gate.min_top1_agreement_ratio:.2%}); NLL {accuracy.nll_delta:+.4f} nats, upper bound"
        f" {accuracy.nll_delta_high:+.4f} (at most {gate.max_nll_delta:+.4f})"
        f"{_task(accuracy.task, gate.max_task_drop_ratio)}."
    )


def _task(task: TaskScore | None, limit: float) -> str:
    if task is None:
        return ""
    return (
        f"; {task.name} {task.score:.2%} +- {task.standard_error:.2%} against"
        f" {task.baseline_score:.2%}, drop at most {task.drop_high:.2%} (at most {limit:.2%})"
    )


def exact_basis(result: Result) -> str:
    """Return what part of the gain needs no change of numerics."""
    exact = result.exact
    if exact.is_whole and not exact.num_actions:
        return "The final stack is the frozen baseline itself."
    if exact.is_whole:
        return (
            "Every action of the final stack claims not to change numerics, and was held to the"
            " baseline's greedy tokens."
        )
    if not exact.num_actions:
        return "No part of the gain is exact: the first action already changes numerics."
    return (
        f"The first {exact.num_actions} actions, up to {exact.node_id} ({exact.commit[:10]}), all"
        " claim not to change numerics and were held to the baseline's greedy tokens: about"
        f" {exact.estimated_ratio:.3f}x as the product of their measured effects, where the whole"
        f" stack has {exact.whole_estimated_ratio:.3f}x by the same estimate."
    )


def accuracy_words(sample: AccuracySample, *, claims_exact: bool) -> str:
    """Return an accuracy sample in one line."""
    passes = ", ".join(
        f"{each.kind} ({len(each.prompts)} prompts, batch {each.batch},"
        f" {each.context_tokens} tokens)"
        for each in sample.passes
    )
    task = sample.task
    score = f" {task.name} {task.score:.2%}, drop at most {task.drop_high:.2%};" if task else ""
    greedy = sample.greedy_match_ratio
    return (
        f"{'path claims to be exact' if claims_exact else 'path may change numerics'}:"
        f" KL {sample.kl_mean:.2e} nats, at most {sample.kl_mean_high:.2e}; top-1"
        f" {sample.top1_agreement_ratio:.2%}, at least {sample.top1_agreement_low_ratio:.2%}; NLL"
        f" {sample.nll_delta:+.4f}, at most {sample.nll_delta_high:+.4f};{score}"
        f" {'' if greedy is None else f'{greedy:.2%} of greedy tokens equal; '}"
        f"{sample.num_tokens} tokens: {passes}"
    )


def noise_basis(story: Story) -> str:
    """Return what identical arms looked like."""
    noise = story.state.noise
    if noise is None:
        return "Noise was not calibrated."
    effect = noise.effect
    return (
        f"Identical arms differed by {effect.sd_log_ratio:.2%} from pair to pair"
        f" (A/A effect {effect.ratio:.3f}x [{effect.low:.3f}, {effect.high:.3f}] over"
        f" {effect.num_pairs} pairs); the smallest effect its first series would find with"
        f" power 0.8 is {percent(noise.mde_ratio)}."
    )


def shrinkage_basis(result: Result) -> str:
    """Return what the separately measured keeps multiply to, beside the final claim."""
    if result.final_node_id == ROOT_ID:
        return "Nothing is kept, so there are no separately measured keeps to multiply."
    words = (
        f"The separately measured keeps multiply to {result.path_ratio:.3f}x"
        f"{_beside(result.path_ratio, result.gain)}; without the luck of having been selected"
        f" (each shrunk by empirical Bayes over all measured series) to"
        f" {result.shrunk_path_ratio:.3f}x{_beside(result.shrunk_path_ratio, result.gain)}."
    )
    return f"{words} Only the final measurement is claimed."


def _beside(ratio: float, gain: Gain | None) -> str:
    if gain is None:
        return ""
    where = "inside" if gain.low <= ratio <= gain.high else "outside"
    return f", {where} the interval of the final claim"


def reproduce(directory: str) -> tuple[tuple[str, str], ...]:
    """Return commands that repeat or check the campaign, each with what it does."""
    directory = shlex.quote(directory)
    return (
        (f"arbor audit {directory}", "recompute every digest, effect, score and decision"),
        (
            f"arbor recheck {directory}",
            "measure the final claim again, on fresh servers with fresh seeds",
        ),
        (
            f"arbor export {directory} --out final-stack",
            "patch series, branch bundle, serve.yaml and launch.sh of the final stack",
        ),
        ("final-stack/launch.sh", "start the final stack without Arbor's orchestration"),
        (f"arbor report {directory} --json", "this report for machines"),
        (
            f"arbor sql {directory} 'select kind, count(*) from events group by kind'",  # noqa: S608 - shown, not run
            "ask the log your own questions",
        ),
    )


def method(measure: MeasureSettings, score_form: str) -> tuple[str, ...]:
    """Return how candidates were ranked and measured, one sentence or two a line."""
    measured = (
        "Arms are measured in adjacent windows with equal seeds and equal work, in alternating"
        f" order; a series ends when its pairs decide, between {measure.min_pairs} and"
        f" {measure.max_pairs} pairs on up to {measure.max_starts} server starts per arm. Levels"
        " of the tests are set so that at most"
        f" {measure.false_discovery_ratio:.0%} of the keeps are expected to be no gain at all."
        " While a window runs, Arbor does nothing else on the host."
    )
    discarded = (
        "Windows in which other processes took more than"
        f" {measure.max_foreign_cpu_ratio:.0%} of the cores are discarded by load alone, never"
        " by their ratio."
    )
    keys = (
        "A keep needs two keys: the Orchestrator proposes it, the Critic must have accepted"
        " accuracy and benchmark before."
    )
    return SCORE_FORMS[score_form].replace("`", ""), measured, discarded, keys
