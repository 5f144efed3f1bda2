"""Guardrails on what was compared: the action took effect, on the right stack, and that alone."""

from arbor.core.guardrails.base import (
    HOLDS,
    Evidence,
    Guardrail,
    Severity,
    Verdict,
    WindowRule,
    broken,
    not_observed,
)
from arbor.events.types import Scalar, WindowSample


class HasWitness(Guardrail):
    """An action must prove that it took effect."""

    name = "witness"
    severity: Severity = "invalid"
    anomaly = 8

    def judge(self, evidence: Evidence) -> Verdict:
        """Return what is missing."""
        return HOLDS if evidence.result.has_witness else broken(evidence.result.witness_detail)


class LimitReached(Guardrail):
    """A raised limit that the load never reaches changes nothing."""

    name = "limit_not_reached"
    severity: Severity = "invalid"
    anomaly = 20

    def judge(self, evidence: Evidence) -> Verdict:
        """Broken by a raised number whose old value was enough for every window."""
        raised = [
            (edit.key, old, new)
            for edit in evidence.edits
            if (new := _number(edit.value)) is not None
            and (old := _number(evidence.incumbent_config.get(edit.key))) is not None
            and new > old
        ]
        missing = []
        for key, old, new in raised:
            peaks = [
                peak.value
                for pair in evidence.valid_pairs()
                for peak in pair.candidate.peaks
                if peak.key == key
            ]
            if not peaks:
                missing.append(key)
            elif max(peaks) <= old:
                return broken(
                    f"{key} was raised from {old:g} to {new:g}, but no window of the candidate "
                    f"went beyond {max(peaks):g}"
                )
        return not_observed("how far " + ", ".join(missing) + " was used") if missing else HOLDS


def _number(value: Scalar | None) -> float | None:
    return None if value is None or isinstance(value, bool | str) else float(value)


class SameCommit(Guardrail):
    """Accuracy and speed must belong to one configuration."""

    name = "accuracy_of_other_commit"
    severity: Severity = "invalid"
    anomaly = 22

    def judge(self, evidence: Evidence) -> Verdict:
        """Broken when the accuracy was measured on another commit."""
        if evidence.accuracy is None:
            return not_observed("accuracy of the node")
        measured, checked = evidence.result.commit, evidence.accuracy.commit
        if measured != checked:
            return broken(f"speed was measured on {measured[:12]}, accuracy on {checked[:12]}")
        return HOLDS


class NoDebugSwitches(WindowRule):
    """Profilers and debug options slow down one arm, or both, by what nobody will serve with."""

    name = "debug_left_on"
    severity: Severity = "invalid"
    anomaly = 23

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by anything that was on."""
        if window.debug_switches is None:
            return not_observed("profilers and debug options of the server")
        if window.debug_switches:
            return broken("left on: " + ", ".join(window.debug_switches))
        return HOLDS


class QuietLog(WindowRule):
    """A warning during the load often names an option that was ignored."""

    name = "server_warnings"
    severity: Severity = "note"
    anomaly = 8

    def of_window(self, window: WindowSample) -> Verdict:
        """Broken by any warning or error in the server's log."""
        if window.num_log_warnings is None:
            return not_observed("the server's log")
        if window.num_log_warnings:
            return broken(f"the server logged {window.num_log_warnings} warnings or errors")
        return HOLDS
