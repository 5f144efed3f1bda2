"""Study 3: feedback loops where the prior is dense or sparse, at native and at small sizes."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import get_args

from arbor.search.probes import Estimate, rate
from arbor.studies.agents import ARMS, TUNER, Setting
from arbor.studies.kernel_texts import Writer
from arbor.studies.machine import TASKS, Language, Outcome, Regime, compiled
from arbor.studies.plot import Bar, bars
from arbor.studies.recording import StudyDirectory, aligned

LANGUAGES: tuple[Language, ...] = get_args(Language)
REGIMES: tuple[Regime, ...] = get_args(Regime)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One arm on one task.

    Attributes:
        language: of the programs.
        regime: of the sizes.
        task: its name.
        arm: who worked.
        seed: of its chance.
        num_correct: programs that compiled.
        num: programs that were run.
        speedup: of the best over the compiler; 0 when none compiled.
    """

    language: Language
    regime: Regime
    task: str
    arm: str
    seed: int
    num_correct: int
    num: int
    speedup: float


@dataclass(frozen=True, slots=True)
class Share:
    """An arm in one language and regime.

    Attributes:
        language: of the programs.
        regime: of the sizes.
        arm: who worked.
        correct: share of programs that compiled.
        faster: share of attempts whose best beat the compiler.
        won: share of attempts that beat the tuner's, ties left out.
        speedup: geometric mean over the compiler of attempts with a program that compiled; 0
            when there is none.
    """

    language: Language
    regime: Regime
    arm: str
    correct: Estimate
    faster: Estimate
    won: Estimate
    speedup: float


def run(
    writer: Writer, budget: int, num_seeds: int, directory: StudyDirectory | None = None
) -> list[Attempt]:
    """Return every attempt: each arm on each task in each language."""
    attempts = []
    for language in LANGUAGES:
        for task in TASKS:
            for arm in ARMS:
                for seed in range(num_seeds):
                    setting = Setting(task, language, writer, budget, seed)
                    outcomes = ARMS[arm](setting)
                    attempt = _attempt(setting, arm, outcomes)
                    attempts.append(attempt)
                    if directory is not None:
                        _record(directory, attempt, outcomes)
    return attempts


def _attempt(setting: Setting, arm: str, outcomes: Sequence[Outcome]) -> Attempt:
    times = [each.time_us for each in outcomes if each.time_us is not None]
    return Attempt(
        language=setting.language,
        regime=setting.task.regime,
        task=setting.task.name,
        arm=arm,
        seed=setting.seed,
        num_correct=len(times),
        num=len(outcomes),
        speedup=compiled(setting.task) / min(times) if times else 0.0,
    )


def _record(directory: StudyDirectory, attempt: Attempt, outcomes: Sequence[Outcome]) -> None:
    for step, outcome in enumerate(outcomes, 1):
        directory.record(
            "ProgramRun",
            language=attempt.language,
            task=attempt.task,
            arm=attempt.arm,
            seed=attempt.seed,
            step=step,
            time_us=outcome.time_us,
            feedback=outcome.feedback,
        )


def shares(attempts: Sequence[Attempt]) -> list[Share]:
    """Return every arm in every language and regime."""
    tuned = {
        (each.language, each.task, each.seed): each.speedup
        for each in attempts
        if each.arm == TUNER
    }
    found = []
    for language in LANGUAGES:
        for regime in REGIMES:
            here = [a for a in attempts if (a.language, a.regime) == (language, regime)]
            for arm in dict.fromkeys(each.arm for each in here):
                own = [each for each in here if each.arm == arm]
                found.append(_share(language, regime, arm, own, tuned))
    return found


def _share(
    language: Language,
    regime: Regime,
    arm: str,
    own: Sequence[Attempt],
    tuned: dict[tuple[Language, str, int], float],
) -> Share:
    rivals = [tuned.get((a.language, a.task, a.seed), a.speedup) for a in own]
    num_won = sum(a.speedup > rival for a, rival in zip(own, rivals, strict=True))
    num_lost = sum(a.speedup < rival for a, rival in zip(own, rivals, strict=True))
    logs = [math.log(a.speedup) for a in own if a.speedup > 0]
    return Share(
        language=language,
        regime=regime,
        arm=arm,
        correct=rate(sum(a.num_correct for a in own), sum(a.num for a in own)),
        faster=rate(sum(a.speedup > 1 for a in own), len(own)),
        won=rate(num_won, num_won + num_lost),
        speedup=math.exp(math.fsum(logs) / len(logs)) if logs else 0.0,
    )


def table(found: Sequence[Share]) -> str:
    """Return the shares as text."""
    rows = [
        ("language", "sizes", "arm", "correct", "beats compiler", "beats tuner", "speed-up"),
    ]
    rows += [
        (
            each.language,
            each.regime,
            each.arm,
            str(each.correct),
            str(each.faster),
            "" if each.arm == TUNER else str(each.won),
            f"{each.speedup:.2f}x",
        )
        for each in found
    ]
    return aligned(rows)


def plot(found: Sequence[Share]) -> str:
    """Return the share of attempts in which each agent beat the tuner, with intervals."""
    heights = [
        Bar(f"{s.language} {s.regime} {s.arm}", s.won.value, s.won.low, s.won.high)
        for s in found
        if s.arm != TUNER
    ]
    return bars("share of attempts that beat the tuner", heights)


def summary(found: Sequence[Share], writer: str) -> dict[str, object]:
    """Return what goes into the summary file."""
    return {
        "study": "feedback",
        "writer": writer,
        "note": "times are modelled, not measured; writers without a model are stand-ins; nothing"
        " here reproduces a model's figures",
        "shares": [asdict(each) for each in found],
    }
