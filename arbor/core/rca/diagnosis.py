"""The diagnosis of an incident: the first rule that holds, weighed by what else broke."""

from dataclasses import replace

from arbor.core.rca.base import MAX_EVIDENCE_LINES, Diagnosis, Incident, Rule
from arbor.core.rca.record import Record
from arbor.core.rca.rules import RULES
from arbor.events.causes import CauseLayer, LogLine

_LAYERS: tuple[tuple[str, CauseLayer], ...] = (
    ("nccl", "communication"),
    ("rccl", "communication"),
    ("distributed", "communication"),
    ("all_reduce", "communication"),
    ("collective", "communication"),
    ("_inductor", "compiler"),
    ("_dynamo", "compiler"),
    ("compilation", "compiler"),
    ("aiter", "kernel"),
    ("flashinfer", "kernel"),
    ("triton", "kernel"),
    ("kernel", "kernel"),
    ("ops", "kernel"),
    ("entrypoints", "application"),
)
"""Part of a file's path, and the layer that it belongs to."""
MIN_DIFFERENT_IDEAS = 2
"""An error that so many other ideas, or the incumbent, met does not come from this one."""


def diagnose(incident: Incident) -> Diagnosis:
    """Return the cause of an incident, or ``unknown`` with no blame."""
    record = Record.of(incident)
    for rule in RULES:
        evidence = tuple(rule.find(record))
        if evidence:
            return _weighed(_found(rule, record, evidence), incident)
    return unknown(tuple(line.raw for line in record.lines[-3:]))


def unknown(evidence: tuple[LogLine, ...] = ()) -> Diagnosis:
    """Return the diagnosis that blames nobody."""
    return Diagnosis(
        "unknown", "unknown", "", "unknown", 0.0, "look at the log", evidence=evidence
    )


def _found(rule: Rule, record: Record, evidence: tuple[LogLine, ...]) -> Diagnosis:
    return Diagnosis(
        rule.cause,
        rule.group,
        rule.layer or _layer_of(record),
        rule.fault,
        rule.confidence_ratio,
        rule.remedy,
        rule.step,
        evidence[:MAX_EVIDENCE_LINES],
    )


def _layer_of(record: Record) -> CauseLayer:
    """Return the layer of the innermost frame that tells one, else of the whole log."""
    for path in reversed(record.frames):
        for part, layer in _LAYERS:
            if part in path.lower():
                return layer
    text = " ".join(line.text for line in record.lines).lower()
    found = next((layer for part, layer in _LAYERS[:5] if part in text), None)
    return found or "framework"


def _weighed(found: Diagnosis, incident: Incident) -> Diagnosis:
    """Take the blame off an idea when the incumbent or other ideas met the same error."""
    others = {
        each.template_id
        for each in incident.precedents
        if each.cause == found.cause and each.template_id != incident.template_id
    }
    is_everywhere = None in others or len(others) >= MIN_DIFFERENT_IDEAS
    if found.fault != "idea" or incident.template_id is None or not is_everywhere:
        return found
    who = "the incumbent" if None in others else f"{len(others)} other ideas"
    return replace(
        found,
        fault="environment",
        confidence_ratio=found.confidence_ratio / 2,
        remedy=f"{who} met the same; look at the host, then: {found.remedy}",
        step="retry",
    )
