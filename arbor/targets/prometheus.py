"""The server's Prometheus page: counters by name, and what they grew by."""

import math
import re
from collections.abc import Mapping

_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_GROWING = ("_total", "_sum", "_count")
_KEPT_LABELS = frozenset(("finished_reason", "position"))
"""Labels that tell counters apart; those of engines, models and front processes are added up."""

SUCCESS = "vllm:request_success_total"
FINISHED = (f'{SUCCESS}{{finished_reason="stop"}}', f'{SUCCESS}{{finished_reason="length"}}')
OUTPUT_TOKENS = "vllm:generation_tokens_total"
PREEMPTIONS = "vllm:num_preemptions_total"
PREFIX_HITS = "vllm:prefix_cache_hits_total"
LATENCY = "vllm:e2e_request_latency_seconds"


def read_counters(page: str) -> dict[str, float]:
    """Return what only grows, by name as the page exports it, added up over the other labels.

    A counter whose labels tell reasons apart is there in whole and for each reason. Lines of
    another form are skipped.

    Args:
        page: text of ``/metrics``.
    """
    totals: dict[str, float] = {}
    for line in page.splitlines():
        found = _LINE.match(line)
        if found is None or not found[1].endswith(_GROWING):
            continue
        try:
            value = float(found[3])
        except ValueError:
            continue
        if not math.isfinite(value):
            continue
        kept = [(k, v) for k, v in _LABEL.findall(found[2] or "") if k in _KEPT_LABELS]
        names = {found[1]}
        names |= {f'{found[1]}{{{key}="{text}"}}' for key, text in kept}
        for name in names:
            totals[name] = totals.get(name, 0.0) + value
    return totals


def growth(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return what counters grew by; one that is new began at 0, one that fell was set back.

    Args:
        before: counters before a window.
        after: counters after it.
    """
    return {
        name: value - before.get(name, 0.0) if value >= before.get(name, 0.0) else value
        for name, value in after.items()
    }


def whole(grown: Mapping[str, float], *names: str) -> int | None:
    """Return the sum of counters; None when none of them is on the page: that is not zero."""
    known = [grown[name] for name in names if name in grown]
    return round(sum(known)) if known else None


def mean_ms(grown: Mapping[str, float], name: str) -> float | None:
    """Return the mean of a histogram of seconds over a window; None when it counted nothing."""
    count = grown.get(f"{name}_count", 0.0)
    total_s = grown.get(f"{name}_sum")
    return None if total_s is None or not count else total_s * 1e3 / count
