"""How often root causes are right: 80 re-typed public failures, and whole logs of vLLM on a CPU.

    python benchmarks/rca.py [--half open|sealed] [--misses]

A case is diagnosed from its log alone, as `arbor diagnose` does. Rules were written from the open
half of the sources and frozen before the sealed half was looked at (`benchmarks/rca_split.py`).
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rca_split import CASES, Case, half_of, load
from table import Row, at_least, at_most, publish, table

from arbor.core.rca import Diagnosis, Incident, diagnose
from arbor.core.rca.excerpt import numbered
from arbor.targets.log_excerpt import read_log

REAL_LOGS = Path(__file__).parent / "data" / "vllm_cpu"
MIN_BALANCED_ACCURACY = 0.85
MIN_GROUP_ACCURACY = 0.8
ENVIRONMENT = frozenset(
    {
        "dependency_or_version",
        "driver_or_hardware",
        "leftover_state",
        "network",
        "stale_cache",
        "storage_full",
        "unsupported_arch",
    }
)
"""Groups of established causes that no idea can be blamed for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A case and what was made of it."""

    case: Case
    found: Diagnosis

    @property
    def is_group_right(self) -> bool:
        """True when the family of the cause is the established one."""
        return bool(self.found.group == self.case["cause_group"])

    @property
    def is_blame_right(self) -> bool:
        """True when the idea is blamed exactly where it is to blame."""
        return bool(self.found.blames_idea == self.case["blames_idea"])

    def __str__(self) -> str:
        case, found = self.case, self.found
        return (
            f"{case['id']}: {case['cause']} ({case['cause_group']}, {case['layer']}, "
            f"blames {case['blames_idea']}) -> {found.cause} ({found.group}, {found.layer}, "
            f"{found.fault})"
        )


def _recall(answers: Sequence[Answer], *, blames_idea: bool) -> float:
    asked = [each for each in answers if each.case["blames_idea"] is blames_idea]
    return sum(each.is_blame_right for each in asked) / len(asked) if asked else float("nan")


def _rows(name: str, answers: Sequence[Answer]) -> list[Row]:
    how = f"{len(answers)} cases of the {name} half, diagnosed from their logs alone"
    yes, no = (_recall(answers, blames_idea=value) for value in (True, False))
    layers = [bool(a.found.layer == a.case["layer"]) for a in answers]
    causes = [bool(a.found.cause == a.case["cause"]) for a in answers]
    constrained = [
        a for a in answers if a.case["cause_group"] in ENVIRONMENT and a.found.blames_idea
    ]
    num = len(answers)
    return [
        at_least(f"{name}: blames idea, balanced", (yes + no) / 2, "", MIN_BALANCED_ACCURACY, how),
        Row(f"{name}: recall of blamed ideas", yes, "", how=how),
        Row(f"{name}: recall of ideas not to blame", no, "", how=how),
        at_least(
            f"{name}: cause group",
            sum(a.is_group_right for a in answers) / num,
            "",
            MIN_GROUP_ACCURACY,
            how,
        ),
        Row(f"{name}: cause", sum(causes) / num, "", how=how),
        Row(f"{name}: layer", sum(layers) / num, "", how=how),
        Row(
            f"{name}: unknown", sum(a.found.cause == "unknown" for a in answers), "cases", how=how
        ),
        at_most(f"{name}: environment faults constrained", len(constrained), "cases", 0.0, how),
    ]


def answers_of(half: str) -> list[Answer]:
    """Return the diagnoses of the cases of a half."""
    cases = [case for case in load(CASES) if half_of(case["source"]) == half]
    return [
        Answer(case, diagnose(Incident(lines=numbered(case["log"].splitlines()))))
        for case in cases
    ]


def real_logs() -> list[Answer]:
    """Return the diagnoses of whole logs."""
    text = (REAL_LOGS / "labels.jsonl").read_text(encoding="utf-8")
    labels = [json.loads(line) for line in text.splitlines() if line]
    return [
        Answer(label, diagnose(Incident(lines=read_log(REAL_LOGS / label["file"]))))
        for label in labels
    ]


def _real_rows(answers: Sequence[Answer]) -> list[Row]:
    how = f"{len(answers)} whole logs of vLLM 0.32 on a CPU, all of them seen by the rules' author"
    blame = sum(a.is_blame_right for a in answers) / len(answers)
    cause = sum(a.found.cause == a.case["cause"] for a in answers) / len(answers)
    return [
        Row("whole logs: blames idea, right", blame, "", how=how),
        Row("whole logs: cause", cause, "", how=how),
    ]


def main() -> int:
    """Diagnose the cases and print the table; without ``--half`` the results are written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=["open", "sealed"])
    parser.add_argument("--misses", action="store_true", help="print what was not told right")
    asked = parser.parse_args()
    halves = [asked.half] if asked.half else ["open", "sealed"]
    rows: list[Row] = []
    for half in halves:
        answers = answers_of(half)
        rows += _rows(half, answers)
        if asked.misses:
            missed = (a for a in answers if not (a.is_group_right and a.is_blame_right))
            print(*missed, sep="\n")
    if asked.half:
        print(table(rows))
        return 0
    return publish("rca", [*rows, *_real_rows(real_logs())])


if __name__ == "__main__":
    sys.exit(main())
