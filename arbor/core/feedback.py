"""Which feedback about a draft a planner is shown (CuGEdit, arXiv 2605.26720); all is collected.

Broken code: the debugger's only, since times of code that fails mean nothing. Working code: the
profiler's, since there is nothing to debug. Code that resembles known cases: everything, which a
prior can use. A weak coder gets a summary instead of raw output.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["debugger", "analyzer", "profiler"]
KINDS: tuple[Kind, ...] = ("debugger", "analyzer", "profiler")
KNOWN_OVERLAP_RATIO = 0.5
"""Code that shares so many of its names with a known case resembles it."""
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_FORCED: dict[str, tuple[Kind, ...]] = {
    "debugger": ("debugger",),
    "profiler": ("profiler",),
    "full": KINDS,
}


@dataclass(frozen=True, slots=True)
class Route:
    """What the planner sees.

    Attributes:
        shown: kinds of feedback, the others are masked.
        rule: ``broken``, ``working``, ``known``, or ``forced`` by the settings.
        is_summarised: whether a summary stands for the raw text.
    """

    shown: tuple[Kind, ...]
    rule: str
    is_summarised: bool


def route(mode: str, *, is_working: bool, is_known: bool, is_coder_weak: bool) -> Route:
    """Return what is shown about a draft.

    Args:
        mode: ``routed``, or what is always shown: ``debugger``, ``profiler`` or ``full``.
        is_working: whether the draft runs.
        is_known: whether its code resembles a known case.
        is_coder_weak: whether raw output would be too much for the coder.
    """
    if mode in _FORCED:
        return Route(_FORCED[mode], "forced", is_coder_weak)
    if is_known:
        return Route(KINDS, "known", is_coder_weak)
    shown: tuple[Kind, ...] = ("profiler",) if is_working else ("debugger",)
    return Route(shown, "working" if is_working else "broken", is_coder_weak)


def resembles(code: str, cases: Iterable[str]) -> bool:
    """Return whether code shares most of its names with one of the known cases (Jaccard)."""
    names = set(_NAME.findall(code))
    if not names:
        return False
    for case in cases:
        known = set(_NAME.findall(case))
        shared = len(names & known)
        if shared >= KNOWN_OVERLAP_RATIO * len(names | known):
            return True
    return False
