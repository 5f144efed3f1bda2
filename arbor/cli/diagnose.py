"""`arbor diagnose`: the root cause of a failed run, from its log and the way it ended."""

import json
from pathlib import Path
from typing import Annotated

import typer

from arbor.cli.console import say
from arbor.cli.text import one_line
from arbor.core.rca import Diagnosis, Incident
from arbor.core.rca import diagnose as find_cause
from arbor.events.errors import InvalidInputError
from arbor.targets.log_excerpt import read_log

_MAX_SIGNAL = 64
_SAYS = {
    "idea": "the idea: it would fail here again however it is built",
    "implementation": "the implementation: the idea itself is not refuted",
    "environment": "the environment: the same attempt may work on a clean place",
    "unknown": "not known: nobody is blamed",
}


def diagnose(
    logfile: Annotated[Path, typer.Argument(help="log of the program that failed")],
    exit_code: Annotated[
        int | None, typer.Option("--exit-code", help="exit code of the program")
    ] = None,
    signal: Annotated[
        int | None, typer.Option("--signal", help="number of the signal that ended it")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Tell why a run failed, whose fault it is, and what to do about it."""
    if signal is not None and not 1 <= signal <= _MAX_SIGNAL:
        raise InvalidInputError(f"--signal is {signal}; give a number from 1 to {_MAX_SIGNAL}")
    try:
        lines = read_log(logfile)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidInputError(f"cannot read {logfile}: {reason}; name a log file") from error
    found = find_cause(Incident(lines=lines, exit_code=exit_code, signal=signal))
    say(_as_json(found) if as_json else _as_text(found))


def _as_json(found: Diagnosis) -> str:
    return json.dumps(
        {
            "cause": found.cause,
            "cause_group": found.group,
            "layer": found.layer or None,
            "fault": found.fault,
            "blames_idea": found.blames_idea,
            "confidence_ratio": found.confidence_ratio,
            "remedy": found.remedy,
            "step": found.step,
            "evidence": [{"line": x.number or None, "text": x.text} for x in found.evidence],
        },
        indent=2,
    )


def _as_text(found: Diagnosis) -> str:
    where = f", {found.layer} layer" if found.layer else ""
    lines = [
        f"cause       {found.cause} ({found.group}{where})",
        f"fault       {_SAYS[found.fault]}",
        f"confidence  {found.confidence_ratio:.0%}",
        f"remedy      {found.remedy}",
    ]
    for number, line in enumerate(found.evidence):
        name = "" if number else "evidence"
        place = f"line {line.number}: " if line.number else ""
        lines.append(f"{name:<12}{place}{one_line(line.text)}")
    return "\n".join(lines)
