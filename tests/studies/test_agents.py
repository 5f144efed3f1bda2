"""Arms of the feedback study: how often they run, and what they tell the writer."""

import pytest

from arbor.studies.agents import (
    ARMS,
    PriorWriter,
    Setting,
    UniformWriter,
    feedback_loop,
    writer_for,
)
from arbor.studies.kernel_texts import Writer
from arbor.studies.machine import TASKS, program

GOOD = {"block_m": 64, "block_n": 64, "block_k": 32, "warps": 4}


class Recording:
    """Gives replies in turn and keeps the prompts."""

    name = "recording"

    def __init__(self, *replies: str) -> None:
        self._replies = replies
        self.prompts: list[str] = []

    def write(self, prompt: str, temperature: float, seed: int) -> str:  # noqa: ARG002
        self.prompts.append(prompt)
        return self._replies[(len(self.prompts) - 1) % len(self._replies)]


@pytest.mark.parametrize("arm", sorted(ARMS))
@pytest.mark.parametrize("writer", [PriorWriter(0), UniformWriter(0)], ids=["prior", "uniform"])
def test_every_arm_spends_its_budget_and_repeats(arm: str, writer: Writer) -> None:
    setting = Setting(TASKS[4], "sparse", writer, 8, 3)
    outcomes = ARMS[arm](setting)
    assert len(outcomes) == 8
    assert ARMS[arm](setting) == outcomes


def test_candidates_are_independent_and_the_last_sees_them_all() -> None:
    writer = Recording(program(GOOD, "dense"), "nonsense")
    ARMS["sampling"](Setting(TASKS[0], "dense", writer, 4, 0))
    assert len(set(writer.prompts[:3])) == 1
    assert "Candidate 3:" in writer.prompts[3]
    assert "compile error" in writer.prompts[3]


def test_the_loop_advises_what_works_and_diagnoses_what_does_not() -> None:
    writer = Recording(program(GOOD, "dense"), "nonsense", program(GOOD, "dense"))
    feedback_loop(Setting(TASKS[0], "dense", writer, 3, 0))
    assert "Advice:" in writer.prompts[1]
    assert "Diagnosis: compile error" in writer.prompts[2]
    assert "Advice" not in writer.prompts[2]


def test_writers_are_found_by_name() -> None:
    assert writer_for("uniform", 0).name == "uniform"
    assert writer_for("arbor.studies.agents:PriorWriter", 0).name == "prior"
