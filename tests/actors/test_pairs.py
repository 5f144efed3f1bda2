"""Pairs alternate, are judged by load alone, and flawed ones are repeated."""

import math

import pytest

from arbor.actors.pairs import PlayedPair, one_by_one, planned, play_pair
from arbor.events.types import Objective, WindowSample


def window(throughput_tok_s: float, foreign_cpu_ratio: float | None = None) -> WindowSample:
    return WindowSample(
        num_completed=4,
        num_failed=0,
        num_input_tokens=8,
        num_output_tokens=8,
        duration_s=1.0,
        throughput_tok_s=throughput_tok_s,
        foreign_cpu_ratio=foreign_cpu_ratio,
    )


class Arms:
    """Two arms that note the order in which they are played."""

    def __init__(self, candidate: WindowSample, incumbent: WindowSample) -> None:
        self.order: list[str] = []
        self._windows = {"candidate": candidate, "incumbent": incumbent}

    def _play(self, name: str) -> list[WindowSample]:
        self.order.append(name)
        return [self._windows[name]]

    def pair(self, number: int) -> PlayedPair:
        return play_pair(
            number,
            1,
            one_by_one(lambda: self._play("candidate"), lambda: self._play("incumbent")),
            objective=Objective(),
            num_devices=0,
            max_foreign_cpu_difference=0.25,
        )


def test_the_order_alternates_and_the_ratio_does_not_turn() -> None:
    arms = Arms(window(200.0), window(100.0))
    odd, even = arms.pair(1), arms.pair(2)
    assert arms.order == ["candidate", "incumbent", "incumbent", "candidate"]
    assert (odd.is_candidate_first, even.is_candidate_first) == (True, False)
    assert odd.log_ratio == even.log_ratio == pytest.approx(math.log(2.0))
    assert odd.is_valid
    assert odd.flaw is None


@pytest.mark.parametrize(
    ("loads", "is_valid"),
    [((0.9, 0.8), True), ((0.5, 0.1), False), ((None, None), True), ((0.0, 0.25), True)],
)
def test_load_on_one_arm_makes_a_pair_flawed(
    loads: tuple[float | None, float | None], *, is_valid: bool
) -> None:
    pair = Arms(window(200.0, loads[0]), window(100.0, loads[1])).pair(1)
    assert pair.is_valid is is_valid
    assert (pair.flaw is None) is is_valid


def test_an_arm_that_produced_nothing_still_has_a_ratio() -> None:
    assert math.isfinite(Arms(window(0.0), window(100.0)).pair(1).log_ratio)


def test_flawed_pairs_are_repeated_once_each() -> None:
    asked: list[int] = []

    def measure(number: int) -> float | None:
        asked.append(number)
        return None if number == 12 else float(number)

    assert planned(3, 11, measure) == [11.0, 13.0, 14.0]
    assert asked == [11, 12, 13, 14]
    assert planned(2, 1, lambda _: None) == []
