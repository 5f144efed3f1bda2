"""Guardrails on load: the planned one, from a client that keeps up, on a machine left alone."""

from collections.abc import Sequence

from arbor.core.guardrails.base import (
    HOLDS,
    Evidence,
    Guardrail,
    PairRule,
    Severity,
    Verdict,
    WindowRule,
    arms,
    broken,
    first,
    not_observed,
)
from arbor.events.types import WindowSample

FULL_CORE_RATIO = 0.95
"""A client above this share of one core has nothing left."""
BUSY_SERVER_RATIO = 0.8
"""A server below this share of one core waits for its client."""
CLIENT_DELAY_RATIO = 0.1
CLIENT_DELAY_MS = 20.0
"""What a client may add to the server's own latency; it must exceed both."""
LONG_RUN_FACTOR = 5
"""With this many requests per open one, the run's ramp and tail hardly count."""
MEAN_LOAD_RATIO = 0.8
CLOCK_TOLERANCE_RATIO = 0.02


class ClientKeepsUp(Guardrail):
    """A load generator at its limit measures itself."""

    name = "client_bound"
    severity: Severity = "invalid"
    anomaly = 7

    def judge(self, evidence: Evidence) -> Verdict:
        """Broken in most windows of an arm: one window may have met a busy moment."""
        pairs = evidence.valid_pairs()
        return first(
            (
                ("candidate: ", _most([self.of_window(pair.candidate) for pair in pairs])),
                ("incumbent: ", _most([self.of_window(pair.incumbent) for pair in pairs])),
            )
        )

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by a client on a full core beside an idle server, or one that adds latency."""
        client_s, server_s = window.client_cpu_s, window.server_cpu_s
        e2e_ms, server_ms = window.e2e_ms_mean, window.server_e2e_ms_mean
        is_cpu_known = client_s is not None and server_s is not None
        is_latency_known = e2e_ms is not None and server_ms is not None
        if not is_cpu_known and not is_latency_known:
            return not_observed("processor time, or latency on both sides")
        if client_s is not None and server_s is not None:
            client, server = client_s / window.duration_s, server_s / window.duration_s
            if client > FULL_CORE_RATIO and server < BUSY_SERVER_RATIO:
                return broken(f"the client used {client:.0%} of a core, the server {server:.0%}")
        if e2e_ms is not None and server_ms is not None:
            delay_ms = e2e_ms - server_ms
            if delay_ms > CLIENT_DELAY_MS and delay_ms > CLIENT_DELAY_RATIO * e2e_ms:
                return broken(
                    f"requests took {e2e_ms:.0f} ms at the client, "
                    f"{server_ms:.0f} ms at the server"
                )
        return HOLDS


def _most(verdicts: Sequence[Verdict]) -> Verdict:
    """Return a violation only when most windows have one."""
    violations = [verdict.violation for verdict in verdicts if verdict.violation is not None]
    if 2 * len(violations) > len(verdicts):
        return broken(f"{len(violations)} of {len(verdicts)} windows, first {violations[0]}")
    return first(("", verdict) for verdict in verdicts if verdict.violation is None)


class Saturated(WindowRule):
    """Below the planned load, throughput is the client's rate and not the server's."""

    name = "saturation"
    severity: Severity = "suspect"
    anomaly = 16

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken when fewer requests were open than planned, at most or on average."""
        planned, most = window.num_concurrent_planned, window.num_concurrent_max
        if planned is None or most is None:
            return not_observed("planned and reached concurrency")
        if most < planned:
            return broken(f"at most {most} of {planned} requests were open at once")
        if window.e2e_ms_mean is not None and window.num_completed >= LONG_RUN_FACTOR * planned:
            mean = window.num_completed * window.e2e_ms_mean / 1e3 / window.duration_s
            if mean < MEAN_LOAD_RATIO * planned:
                return broken(f"{mean:.1f} of {planned} requests were open on average")
        return HOLDS


class QuietMachine(Guardrail):
    """Other processes must not have taken much processor time."""

    name = "foreign_load"
    severity: Severity = "suspect"
    anomaly = 11

    def judge(self, evidence: Evidence) -> Verdict:
        """Return the worst window above the allowed foreign processor share."""
        seen = [
            window.foreign_cpu_ratio
            for pair in evidence.valid_pairs()
            for _, window in arms(pair)
            if window.foreign_cpu_ratio is not None
        ]
        if not seen:
            return not_observed("processor time of other processes")
        worst, limit = max(seen), evidence.settings.max_foreign_cpu_ratio
        if worst > limit:
            return broken(f"{worst:.0%} of the cores, limit {limit:.0%}")
        return HOLDS


class EqualClocks(PairRule):
    """Power and heat lower the clock, often of one arm only."""

    name = "throttling"
    severity: Severity = "suspect"
    anomaly = 10

    def of_pair(self, candidate: WindowSample, incumbent: WindowSample) -> Verdict:
        """Broken by different clocks, or by throttling in one arm only."""
        counts = candidate.num_throttlings, incumbent.num_throttlings
        clocks = candidate.clock_mhz_mean, incumbent.clock_mhz_mean
        if None in counts and None in clocks:
            return not_observed("clocks or throttle counters")
        if counts[0] is not None and counts[1] is not None and bool(counts[0]) != bool(counts[1]):
            return broken(f"the clock was lowered {counts[0]} and {counts[1]} times")
        if clocks[0] is not None and clocks[1] is not None:
            distance = abs(clocks[0] - clocks[1]) / max(clocks[1], 1e-9)
            if distance > CLOCK_TOLERANCE_RATIO:
                return broken(f"mean clocks of {clocks[0]:.0f} and {clocks[1]:.0f} MHz")
        return HOLDS
