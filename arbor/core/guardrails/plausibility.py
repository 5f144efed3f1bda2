"""Guardrails on the size of a gain: no more than its share of the time allows."""

from arbor.core.guardrails.base import (
    HOLDS,
    Evidence,
    Guardrail,
    Severity,
    Verdict,
    broken,
    not_observed,
)

AMDAHL_TOLERANCE_RATIO = 1.15
"""Shares come from a profiler and are rough; a gain may exceed the bound by this much."""
ENOUGH_SHARE_RATIO = 0.98
"""Above this share the bound says nothing."""


class AmdahlBound(Guardrail):
    """A gain beyond 1 / (1 - p) of the touched share p is an anomaly, not a win."""

    name = "amdahl_bound"
    severity: Severity = "suspect"
    anomaly = 0

    def judge(self, evidence: Evidence) -> Verdict:
        """Return the gain and its bound when the whole interval lies beyond it."""
        share = _share(evidence)
        if share is None or evidence.template is None:
            return not_observed("an action and the incumbent's profile")
        if share >= ENOUGH_SHARE_RATIO:
            return HOLDS
        bound = AMDAHL_TOLERANCE_RATIO / (1.0 - share)
        low = evidence.result.effect.low
        if low <= bound:
            return HOLDS
        return broken(
            f"at least {low:.2f}x from {evidence.template.category} with {share:.0%} of the time; "
            f"bound {bound:.2f}x"
        )


class StatedSpeedup(Guardrail):
    """More than the stated speed-up S of its share explains: the action does something else."""

    name = "stated_speedup"
    severity: Severity = "note"
    anomaly = 0

    def judge(self, evidence: Evidence) -> Verdict:
        """Compare with 1 / (1 - p (1 - 1/S)) (Amdahl 1967)."""
        share = _share(evidence)
        if share is None or evidence.template is None:
            return not_observed("an action and the incumbent's profile")
        stated = max(evidence.template.prior_speedup_ratio, 1.0)
        bound = AMDAHL_TOLERANCE_RATIO / (1.0 - share * (1.0 - 1.0 / stated))
        low = evidence.result.effect.low
        if low <= bound:
            return HOLDS
        return broken(
            f"at least {low:.2f}x; {stated:.2f}x on {share:.0%} of the time explain {bound:.2f}x"
        )


def _share(evidence: Evidence) -> float | None:
    if evidence.template is None or evidence.profile is None:
        return None
    return evidence.profile.share_of(evidence.template.category)
