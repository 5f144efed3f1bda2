"""Guardrails on caches and lazy work: prefixes, compiled code, preempted KV entries."""

import statistics
from collections.abc import Sequence
from itertools import groupby

from arbor.core.guardrails.base import (
    HOLDS,
    Evidence,
    Guardrail,
    PairRule,
    Severity,
    Verdict,
    WindowRule,
    broken,
    first,
    not_observed,
)
from arbor.events.types import WindowSample

HIT_TOLERANCE_RATIO = 0.01
"""Share of the input that may come from a cache without an explanation."""
MIN_WINDOWS = 3
"""A first window is compared with at least two later ones."""
SLOW_FIRST_RATIO = 0.8
"""A first window below this share of the later ones' throughput did something more."""
SLOW_BEGINNING_RATIO = 1.5
"""Its beginning took this much longer, compared with the later ones' beginnings."""
LOAD_TOLERANCE_RATIO = 0.1
"""With so much more foreign load than later, a slow first window has another cause."""


class ColdPrefixCache(WindowRule):
    """Prompts that were played before are served from the prefix cache."""

    name = "warm_prefix_cache"
    severity: Severity = "invalid"
    anomaly = 1

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by more hits than prompts of the same window share with each other."""
        reused, shared = window.num_reused_input_tokens, window.num_shared_input_tokens
        # a preempted sequence finds its own prompt in the cache
        if reused is None or shared is None or window.num_preemptions:
            return not_observed("prefix cache hits and shared prefixes, without preemption")
        allowed = shared + HIT_TOLERANCE_RATIO * window.num_input_tokens
        if reused > allowed:
            return broken(
                f"{reused} of {window.num_input_tokens} input tokens came from the prefix cache, "
                f"the prompts share {shared}"
            )
        return HOLDS


class NothingCompiled(WindowRule):
    """Compilation, JIT and autotuning belong before the window."""

    name = "compiled_in_window"
    severity: Severity = "invalid"
    anomaly = 2

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by anything that was compiled."""
        if window.num_compilations is None:
            return not_observed("compilations of the server")
        if window.num_compilations:
            return broken(f"{window.num_compilations} pieces of code were compiled")
        return HOLDS


class WarmedUp(Guardrail):
    """Whatever is lazy shows as a first window that begins slowly."""

    name = "cold_first_window"
    severity: Severity = "invalid"
    anomaly = 2

    def judge(self, evidence: Evidence) -> Verdict:
        """Compare the first window of each arm and start with the later ones."""
        starts = groupby(evidence.valid_pairs(), key=lambda pair: pair.start)
        series = [(start, list(pairs)) for start, pairs in starts]
        return first(
            (f"start {start}, {arm}: ", _first_window(windows))
            for start, pairs in series
            for arm, windows in (
                ("candidate", [pair.candidate for pair in pairs]),
                ("incumbent", [pair.incumbent for pair in pairs]),
            )
        )


def _first_window(windows: Sequence[WindowSample]) -> Verdict:
    beginnings = [w.first_tenth_ratio for w in windows if w.first_tenth_ratio is not None]
    if len(windows) < MIN_WINDOWS or len(beginnings) < len(windows):
        return not_observed(f"the beginnings of {MIN_WINDOWS} windows of one start")
    foreign = [window.foreign_cpu_ratio or 0.0 for window in windows]
    if foreign[0] > statistics.median(foreign[1:]) + LOAD_TOLERANCE_RATIO:
        return not_observed("a first window without more foreign load than the later ones")
    speed = windows[0].throughput_tok_s / max(
        statistics.median(window.throughput_tok_s for window in windows[1:]), 1e-9
    )
    beginning = beginnings[0] / max(statistics.median(beginnings[1:]), 1e-9)
    if speed < SLOW_FIRST_RATIO and beginning > SLOW_BEGINNING_RATIO:
        return broken(
            f"the first window had {speed:.0%} of the later ones' throughput and took "
            f"{beginning:.1f}x as long to begin"
        )
    return HOLDS


class EqualCodeCaches(PairRule):
    """Code from a cache may be other code than what a compiler chooses today."""

    name = "code_cache_differs"
    severity: Severity = "suspect"
    anomaly = 24

    def of_pair(self, candidate: WindowSample, incumbent: WindowSample) -> Verdict:
        """Broken when one arm compiled its code and the other one found it in a cache."""
        if candidate.is_code_cached is None or incumbent.is_code_cached is None:
            return not_observed("where the code of both arms came from")
        if candidate.is_code_cached != incumbent.is_code_cached:
            cached = "candidate" if candidate.is_code_cached else "incumbent"
            return broken(f"only the {cached} took all of its compiled code from a cache")
        return HOLDS


class NoPreemption(WindowRule):
    """A full KV cache sends sequences back: the result hangs on its size."""

    name = "preemption"
    severity: Severity = "suspect"
    anomaly = 18

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by any preemption."""
        if window.num_preemptions is None:
            return not_observed("preemptions")
        if window.num_preemptions:
            return broken(f"{window.num_preemptions} sequences were preempted")
        return HOLDS
