"""The modelled machine: prices fall where they should, and mistakes are told."""

import itertools
from typing import get_args

import pytest

from arbor.studies.machine import (
    BLOCKS,
    KEYS,
    TASKS,
    WARPS,
    Language,
    compiled,
    price,
    program,
    run_program,
)

LARGE, SMALL = TASKS[0], TASKS[4]
GOOD = {"block_m": 128, "block_n": 128, "block_k": 64, "warps": 8}


@pytest.mark.parametrize("language", get_args(Language))
def test_a_program_sets_what_it_says(language: Language) -> None:
    outcome = run_program(program(GOOD, language), LARGE, language)
    assert outcome == price(GOOD, LARGE)
    assert outcome.time_us is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("BLOCK_M", "BLOCK_Q"), "BLOCK_M is not set"),
        (("= 64", "= 63"), "BLOCK_K=63 is none of"),
    ],
)
def test_a_mistake_is_told(change: tuple[str, str], message: str) -> None:
    outcome = run_program(program(GOOD, "dense").replace(*change), LARGE, "dense")
    assert outcome.time_us is None
    assert message in outcome.feedback


def test_the_words_of_the_other_language_do_not_compile() -> None:
    assert run_program(program(GOOD, "dense"), LARGE, "sparse").time_us is None


def test_too_much_shared_memory_does_not_launch() -> None:
    values = {"block_m": 256, "block_n": 256, "block_k": 128, "warps": 8}
    assert "launch error" in price(values, LARGE).feedback


def _best(task_number: int) -> dict[str, int]:
    task = TASKS[task_number]
    configs = [
        dict(zip(KEYS, each, strict=True))
        for each in itertools.product(BLOCKS, BLOCKS, BLOCKS[:4], WARPS)
    ]
    timed = [(price(c, task).time_us or 1e12, n) for n, c in enumerate(configs)]
    return configs[min(timed)[1]]


def test_large_sizes_want_large_blocks_and_small_ones_small() -> None:
    large, small = _best(0), _best(4)
    assert large["block_m"] * large["block_n"] >= 128 * 64
    assert small["block_m"] * small["block_n"] <= 32 * 32


def test_the_compilers_rule_can_be_beaten_most_at_small_sizes() -> None:
    gains = [compiled(TASKS[n]) / (price(_best(n), TASKS[n]).time_us or 1e12) for n in range(8)]
    assert min(gains) >= 1.0
    assert max(gains[4:]) > 1.2
