"""Tuning finds the best of a known surface, with no trial twice and none for what is ruled out."""

import math

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

from arbor.events.errors import InvalidInputError
from arbor.kernels.architectures import ARCHITECTURES
from arbor.kernels.launching import Config
from arbor.kernels.registry import create_operator
from arbor.targets.kernel.tuning import Measured, tune, tune_exhaustively, valid_configs

SM_90 = ARCHITECTURES["sm_90"]
SHAPE = {"num_rows": 64, "width": 14336}


class Surface:
    """A known time for every configuration; remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[Config] = []

    def __call__(self, config: Config) -> Measured:
        self.asked.append(config)
        block, warps = int(config["BLOCK_N"]), int(config["num_warps"])
        if block == 8192:
            return Measured(config, None, problem="wrong: relative error 1.0")
        time_us = 10 + abs(math.log2(block / 2048)) + 2 * abs(math.log2(warps / 8))
        return Measured(config, time_us, time_us, time_us, 1e-3, "graph")


@pytest.mark.parametrize("engine", ["random", "tpe"])
def test_a_search_comes_near_the_best(engine: str) -> None:
    operator, surface = create_operator("silu_and_mul"), Surface()
    done = tune(operator, SHAPE, "bf16", SM_90, surface, engine_name=engine, num_trials=16, seed=3)
    whole = tune_exhaustively(operator, SHAPE, "bf16", SM_90, Surface())
    best, true_best = done.best(), whole.best()
    assert best is not None
    assert true_best is not None
    assert true_best.config == {"BLOCK_N": 2048, "num_warps": 8}
    assert best.median_us is not None
    assert best.median_us <= 1.1 * 10
    assert len(done.trials) == len(surface.asked) == 16
    assert len({tuple(sorted(each.config.items())) for each in done.trials}) == 16
    assert all(not operator.space.problem(c, SHAPE, "bf16", SM_90) for c in surface.asked)


def test_the_shipped_configuration_comes_first() -> None:
    operator = create_operator("silu_and_mul")
    near = {"BLOCK_N": 4096, "num_warps": 8}
    done = tune(
        operator,
        SHAPE,
        "bf16",
        SM_90,
        Surface(),
        engine_name="random",
        num_trials=3,
        seed=1,
        first=(near,),
    )
    assert done.shipped().config == operator.space.default(SHAPE, "bf16", SM_90)
    assert done.trials[1].config == near
    assert done.space_size == sum(1 for _ in valid_configs(operator, SHAPE, "bf16", SM_90))


def test_what_is_screened_costs_no_trial() -> None:
    operator, surface = create_operator("silu_and_mul"), Surface()

    def screen(config: Config) -> str:
        return "7 registers spilled" if int(config["BLOCK_N"]) < 2048 else ""

    done = tune(
        operator,
        SHAPE,
        "bf16",
        SM_90,
        surface,
        engine_name="random",
        num_trials=6,
        seed=1,
        screen=screen,
    )
    assert len(done.trials) == 6
    assert all(int(each.config["BLOCK_N"]) >= 2048 for each in done.trials[1:])


def test_when_nothing_works_there_is_no_best() -> None:
    operator = create_operator("silu_and_mul")

    def broken(config: Config) -> Measured:
        return Measured(config, None, problem="crashed")

    done = tune(operator, SHAPE, "bf16", SM_90, broken, engine_name="random", num_trials=2, seed=1)
    assert done.best() is None
    with pytest.raises(InvalidInputError, match="at least 1"):
        tune(operator, SHAPE, "bf16", SM_90, broken, engine_name="random", num_trials=0, seed=1)


def test_a_small_space_ends_the_search() -> None:
    operator = create_operator("silu_and_mul")
    shape = {"num_rows": 1, "width": 1}
    done = tune(
        operator, shape, "bf16", SM_90, Surface(), engine_name="random", num_trials=40, seed=1
    )
    assert len(done.trials) == done.space_size < 40
