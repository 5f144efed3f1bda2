"""Study of collapse: known priors are told apart, texts are read, nothing is left out."""

import json
from pathlib import Path

import pytest

from arbor.studies.collapse import plot, run, run_cell, summary, table
from arbor.studies.kernel_texts import SIZES, Writer, prompt_for, read_parameters
from arbor.studies.recording import StudyDirectory
from arbor.studies.writers import AttentiveWriter, HabitWriter, RandomWriter


class Silent:
    """Refuses."""

    name = "silent"

    def write(self, prompt: str, temperature: float, seed: int) -> str:  # noqa: ARG002
        return "I cannot help with that."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BLOCK_M: tl.constexpr = 64\nnum_warps=4", "BLOCK_M=64, num_warps=4"),
        ("triton.Config({'BLOCK_N': 128, 'GROUP_M': 8}, num_stages=3)", None),
        ("BLOCK_SIZE = triton.next_power_of_2(n_cols)", "BLOCK_SIZE=next_power_of_2"),
        ("BLOCK = 64\nBLOCK = 128", "BLOCK=64"),
        ("def kernel(BLOCK: tl.constexpr): pass", "unreadable"),
        ("no code", "unreadable"),
    ],
)
def test_parameters_are_read_from_programs(text: str, expected: str | None) -> None:
    assert read_parameters(text).text == (expected or "BLOCK_N=128, GROUP_M=8, num_stages=3")


def test_only_an_explicit_prompt_speaks_of_the_size() -> None:
    implicit, explicit = (prompt_for("softmax", 777, style) for style in ("implicit", "explicit"))
    assert "777" in implicit
    assert "The size is 777." not in implicit
    assert "The size is 777." in explicit


def test_habit_is_a_collapse_and_attention_is_not() -> None:
    habit = run_cell(HabitWriter(0), "matmul", "explicit", 0.1, num_samples=3)
    attentive = run_cell(AttentiveWriter(0), "matmul", "explicit", 0.1, num_samples=3)
    assert habit.statistic.above_chance < 0.2
    assert habit.most_common == "BLOCK_SIZE=1024, num_stages=2, num_warps=4"
    assert attentive.statistic.above_chance > 0.8
    assert attentive.statistic.p_value < 0.01
    assert (
        run_cell(AttentiveWriter(0), "matmul", "implicit", 0.1, num_samples=3).statistic.nmi < 0.5
    )


def test_chance_is_not_taken_for_attention() -> None:
    found = run_cell(RandomWriter(0), "softmax", "explicit", 0.8, num_samples=3)
    assert found.statistic.nmi > 0.5
    assert found.statistic.above_chance < 0.4


def test_unreadable_replies_stay_in_the_denominator() -> None:
    found = run_cell(Silent(), "softmax", "implicit", 0.1, num_samples=2)
    assert (found.num_unreadable, found.statistic.num) == (20, 20)
    assert found.statistic.nmi == 0.0


@pytest.mark.parametrize("writer", [HabitWriter(0), AttentiveWriter(0), RandomWriter(0)])
def test_equal_questions_have_equal_replies(writer: Writer) -> None:
    assert writer.write("p", 0.8, 3) == writer.write("p", 0.8, 3)


def test_the_study_has_every_cell_and_keeps_every_reply(tmp_path: Path) -> None:
    with StudyDirectory(tmp_path) as kept:
        cells = run(HabitWriter(0), 1, kept, ["softmax"])
    assert [(c.style, c.temperature) for c in cells] == [
        (style, t) for style in ("implicit", "explicit") for t in (0.1, 0.5, 0.8)
    ]
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert len(events) == 6 * len(SIZES["softmax"])
    assert "BLOCK_SIZE" in events[0]["reply"]
    assert table(cells).count("softmax") == 6
    assert plot(cells).count("<title>") == 6
    json.dumps(summary(cells, "habit"), allow_nan=False)
