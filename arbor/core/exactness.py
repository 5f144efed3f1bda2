"""Greedy outputs of windows: arms that both claim to be exact must have given the same tokens."""

from collections.abc import Sequence

from arbor.core.guardrails import Finding
from arbor.events.evidence import PairMeasured

RULE = "exact_outputs"


def check_greedy_outputs(pairs: Sequence[PairMeasured]) -> tuple[Finding, ...]:
    """Return what is wrong with the greedy tokens of pairs whose arms both claim to be exact.

    Arms of a pair play the same requests, so their digests are equal. Pairs without digests say
    nothing.
    """
    seen = [p for p in pairs if p.candidate.output_digest and p.incumbent.output_digest]
    differing = [p.pair for p in seen if p.candidate.output_digest != p.incumbent.output_digest]
    if not differing:
        return ()
    return (
        Finding(
            RULE,
            "invalid",
            f"greedy tokens differ in {len(differing)} of {len(seen)} pairs (first in pair "
            f"{differing[0]}) although both arms claim to be exact",
        ),
    )
