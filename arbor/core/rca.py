"""First root-cause analysis: classes of errors by exit code, signal, phase and log lines.

Rules speak of error classes, the first match wins, and what no rule knows stays ``unknown``:
an idea is blamed only on evidence.
"""

import re
from dataclasses import dataclass
from typing import Literal

from arbor.events.outcome import Crashed

Group = Literal["idea", "implementation", "environment", "unknown"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why something crashed."""

    cause: str
    group: Group
    confidence_ratio: float
    remedy: str
    evidence: tuple[str, ...]

    @property
    def blames_idea(self) -> bool:
        """True when trying the same thing again would crash again."""
        return self.group == "idea"


@dataclass(frozen=True, slots=True)
class _Rule:
    cause: str
    group: Group
    pattern: str
    remedy: str
    confidence_ratio: float = 0.9


_RULES = (
    _Rule(
        "port_busy",
        "environment",
        r"address already in use|port \d+ is (busy|taken|in use)|EADDRINUSE",
        "start again on another port",
    ),
    _Rule(
        "device_busy",
        "environment",
        r"device is busy: others hold memory|Free memory on device .* is less than desired",
        "end what else runs on the device, or let fewer servers share it",
    ),
    _Rule(
        "disk_full",
        "environment",
        r"no space left on device|disk quota exceeded|ENOSPC",
        "free disk space, then resume",
    ),
    _Rule(
        "worker_died",
        "environment",
        r"the bench died in each of",
        "see logs/ for what ended the bench, such as a lack of memory; then try again",
    ),
    _Rule(
        "foreign_load",
        "environment",
        r"foreign load",
        "measure again when the machine is quieter",
    ),
    _Rule(
        "missing_dependency",
        "environment",
        r"ModuleNotFoundError|ImportError|No module named|cannot open shared object|"
        r"compiler (was )?not found|no (C|C\+\+) compiler",
        "install what is missing",
        0.8,
    ),
    _Rule(
        "out_of_memory",
        "idea",
        r"out of memory|OutOfMemoryError|MemoryError|Cannot allocate memory|"
        r"not enough (KV|memory)|No available memory for the cache",
        "ask for less memory",
        0.8,
    ),
    _Rule(
        "dtype_mismatch",
        "idea",
        r"(expected|must|should) .{0,60}\b(dtype|float32|bfloat16|float16|scalar type)|"
        r"mat1 and mat2 must have the same dtype|not implemented for '?\w+'?|"
        r"unsupported (data ?type|dtype)",
        "do not combine this data type with these operators",
    ),
    _Rule(
        "bad_setting",
        "idea",
        r"unknown key|unrecognized argument|invalid (choice|value)|allowed values|"
        r"ValidationError|must be (one of|at least|at most|between)|requires \w+|not supported",
        "leave this setting alone",
        0.8,
    ),
    _Rule(
        "compile_failure",
        "idea",
        r"torch\._dynamo|InductorError|BackendCompilerFailed|error: .*(cpp|cu|hip|py):\d+|"
        r"compilation (failed|terminated)",
        "leave this compilation alone",
        0.7,
    ),
    _Rule(
        "invalid_numbers",
        "idea",
        r"\bnan\b.*(logit|prob|loss)|probability tensor contains|\binf\b.{0,20}\bnan\b",
        "do not use this precision here",
        0.8,
    ),
    _Rule(
        "assertion",
        "idea",
        r"AssertionError|RuntimeError|IndexError|ValueError|TypeError|KeyError|ZeroDivision",
        "treat the combination as broken",
        0.6,
    ),
)

_TOO_LATE = (
    "did not become ready",
    "was not ready within",
    "was not answered within",
    "did not end within",
    "timed out",
)

_SIGNALS: dict[int, tuple[str, Group, str]] = {
    4: ("illegal_instruction", "idea", "the code was built for another processor"),
    6: ("abort", "idea", "treat the combination as broken"),
    8: ("arithmetic_fault", "idea", "treat the combination as broken"),
    9: ("killed", "environment", "check memory limits and who sent SIGKILL; try again"),
    11: ("memory_fault", "idea", "treat the combination as broken"),
    15: ("terminated", "environment", "somebody ended the server; try again"),
}


def diagnose(crash: Crashed) -> Diagnosis:
    """Return the cause of a crash, or ``unknown`` with no blame."""
    lines = (*crash.log_tail, crash.message)
    for rule in _RULES:
        hits = tuple(line for line in lines if re.search(rule.pattern, line, re.IGNORECASE))
        if hits:
            return Diagnosis(rule.cause, rule.group, rule.confidence_ratio, rule.remedy, hits[-3:])
    if crash.signal in _SIGNALS:
        cause, group, remedy = _SIGNALS[crash.signal]
        return Diagnosis(cause, group, 0.6, remedy, (f"ended by signal {crash.signal}",))
    if any(words in crash.message for words in _TOO_LATE):
        return Diagnosis("timeout", "idea", 0.6, "leave out what takes so long", (crash.message,))
    return Diagnosis("unknown", "unknown", 0.0, "look at the log", lines[-3:])
