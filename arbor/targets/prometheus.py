"""Counters of a Prometheus page, and how much they grew."""

import math
import re
from collections.abc import Mapping

_SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)(\{.*\})?\s+(\S+)(\s+-?\d+)?\s*$")
_TYPE = re.compile(r"#\s*TYPE\s+(\S+)\s+(\S+)")
_COUNTED = frozenset(("counter", "histogram", "summary"))
_ENDINGS = ("_total", "_sum", "_count", "_bucket")


def parse_counters(text: str) -> dict[str, float]:
    """Return the counters of a page by name, summed over their labels.

    Histograms give their ``_sum`` and ``_count``. Lines of another form are skipped; names whose
    type is not told count when they end in ``_total``.

    Args:
        text: the page.
    """
    kinds = {found[1]: found[2] for found in map(_TYPE.match, text.splitlines()) if found}
    totals: dict[str, float] = {}
    for found in map(_SAMPLE.match, text.splitlines()):
        if found is None or not _is_counter(found[1], kinds):
            continue
        try:
            value = float(found[3])
        except ValueError:
            continue
        if math.isfinite(value):
            totals[found[1]] = totals.get(found[1], 0.0) + value
    return totals


def growth(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return how much counters grew; one that is new grew from zero, one that fell is left out."""
    grown = {name: value - before.get(name, 0.0) for name, value in after.items()}
    return {name: value for name, value in grown.items() if value >= 0}


def _is_counter(name: str, kinds: Mapping[str, str]) -> bool:
    if name.endswith("_bucket"):
        return False
    base = next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)
    kind = kinds.get(name) or kinds.get(base)
    return kind in _COUNTED if kind else name.endswith("_total")
