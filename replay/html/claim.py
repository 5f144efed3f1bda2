"""The first panel of the report: the claim in one number, and what it rests on."""

from arbor.replay.html.markup import Markup, tag
from arbor.replay.result_models import Result
from arbor.replay.story import Story
from arbor.replay.wording import (
    accuracy_basis,
    claim_basis,
    duration,
    exact_basis,
    headline,
    latency_basis,
    metric_name,
    noise_basis,
    percent,
    shrinkage_basis,
)


def claim(result: Result, story: Story) -> Markup:
    """Return the first panel: the claim in one number, and everything it rests on."""
    gain, accuracy, counts = result.gain, result.accuracy, result.counts
    if gain is not None and gain.is_accepted:
        big = tag("div", percent(gain.ratio), class_="big")
        tokens = (
            f"{gain.baseline_tok_s:,.0f} to {gain.final_tok_s:,.0f} tok/s"
            if gain.baseline_tok_s and gain.final_tok_s
            else ""
        )
        what = tag(
            "div",
            tag("div", metric_name(gain.metric)),
            tag("b", f"{gain.ratio:.3f}x [{gain.low:.3f}, {gain.high:.3f}]"),
            f"  {tokens}",
            class_="what",
        )
    else:
        big = tag("div", headline(result), class_="big none")
        what = tag("div", result.gain_reason, class_="what")
    within = accuracy is not None and accuracy.within_gate
    kl = f"{accuracy.kl_mean_high:.1e}" if accuracy is not None else "none"
    facts = [
        _fact(
            "within gate" if within else "no figure" if accuracy is None else "outside",
            f"accuracy; KL at most {kl} nats" if accuracy is not None else "accuracy",
            "good" if within else "" if accuracy is None else "bad",
        ),
        _exact_fact(result),
        _fact(str(counts.kept), f"kept of {_num_tried(result)} actions measured or tried", "good"),
        _fact(f"{counts.reverted} / {counts.crashed}", "reverted / crashed", ""),
        _fact(duration(result.wall_s), f"of {duration(story.state.budget.wall_s)} budget", ""),
        _fact(f"{result.overhead_ratio:.1%}", "of the time went to Arbor itself", ""),
    ]
    latency = latency_basis(gain) if gain is not None else None
    basis = [
        _basis("Measured on", claim_basis(result)),
        _basis("Latency", latency) if latency is not None else None,
        _basis("Accuracy", accuracy_basis(result)),
        _basis("Exact part", exact_basis(result)),
        _basis("Noise", noise_basis(story)),
        _basis("Cross-check", shrinkage_basis(result)),
    ]
    return tag(
        "section",
        tag("div", big, what, class_="claim"),
        tag("div", *facts, class_="facts"),
        tag("ul", *basis, class_="basis"),
    )


def _num_tried(result: Result) -> int:
    counts = result.counts
    return counts.kept + counts.reverted + counts.crashed + counts.vetoed + counts.revoked


def _exact_fact(result: Result) -> Markup:
    exact = result.exact
    if exact.is_whole and not exact.num_actions:
        return _fact("baseline", "no action was kept", "")
    if exact.is_whole:
        return _fact("exact", "every action claims not to change numerics", "good")
    words = f"without a change of numerics; {exact.whole_estimated_ratio:.2f}x with (estimates)"
    return _fact(f"{exact.estimated_ratio:.2f}x", words, "good" if exact.num_actions else "")


def _fact(number: str, words: str, kind: str) -> Markup:
    return tag("div", tag("b", number), tag("span", words), class_=f"fact {kind}".strip())


def _basis(name: str, words: str) -> Markup:
    return tag("li", tag("b", f"{name}. "), words)
