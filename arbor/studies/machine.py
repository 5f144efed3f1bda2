"""A modelled processor that compiles and prices kernels of two languages; it measures nothing.

One language is dense in priors (the words of Triton), the other sparse (words of a schedule
language). Both set the same parameters, so only the words differ. Time is a roofline with waste
for padding, for too little work a block, and for too many warps.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from arbor.events.types import Parameter
from arbor.search.space import Space, value_at

Language = Literal["dense", "sparse"]
Regime = Literal["native", "small"]

BLOCKS = (16, 32, 64, 128, 256)
WARPS = (1, 2, 4, 8, 16)
SPACE = Space(
    [
        Parameter(key="block_m", kind="categorical", choices=BLOCKS),
        Parameter(key="block_n", kind="categorical", choices=BLOCKS),
        Parameter(key="block_k", kind="categorical", choices=BLOCKS[:4]),
        Parameter(key="warps", kind="categorical", choices=WARPS),
    ]
)
KEYS = tuple(parameter.key for parameter in SPACE)
WORDS: Mapping[Language, Mapping[str, str]] = {
    "dense": {
        "block_m": "BLOCK_M",
        "block_n": "BLOCK_N",
        "block_k": "BLOCK_K",
        "warps": "num_warps",
    },
    "sparse": {
        "block_m": "T.tile_i",
        "block_n": "T.tile_j",
        "block_k": "T.tile_r",
        "warps": "T.bind_y",
    },
}
"""How each language names the parameters."""
_SHARED_BYTES = 96 << 10
_NUM_UNITS = 64
_PEAK_FLOP_PER_US = 2.0e8
_BYTES_PER_US = 2.0e6
_LAUNCH_US = 3.0


@dataclass(frozen=True, slots=True)
class KernelTask:
    """One matrix product.

    Attributes:
        name: unique within the study.
        m: rows of the result.
        n: columns.
        k: length of the sums.
        regime: whether the sizes are those that a prior was formed on.
    """

    name: str
    m: int
    n: int
    k: int
    regime: Regime


TASKS = (
    KernelTask("square-4096", 4096, 4096, 4096, "native"),
    KernelTask("square-2048", 2048, 2048, 2048, "native"),
    KernelTask("wide-1024x8192", 1024, 8192, 2048, "native"),
    KernelTask("tall-8192x1024", 8192, 1024, 1024, "native"),
    KernelTask("square-48", 48, 48, 64, "small"),
    KernelTask("row-1x1024", 1, 1024, 1024, "small"),
    KernelTask("thin-17x512", 17, 512, 256, "small"),
    KernelTask("odd-100x36", 100, 36, 300, "small"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a program.

    Attributes:
        time_us: modelled; None when it did not compile.
        feedback: what a profiler or a compiler would say.
    """

    time_us: float | None
    feedback: str


def program(values: Mapping[str, int], language: Language) -> str:
    """Return a program that sets the parameters."""
    return "\n".join(f"{WORDS[language][key]} = {values[key]}" for key in KEYS)


def run_program(text: str, task: KernelTask, language: Language) -> Outcome:
    """Compile a program and price it."""
    values: dict[str, int] = {}
    for key in KEYS:
        word = WORDS[language][key]
        found = re.search(rf"(?<![\w.]){re.escape(word)}\s*=\s*(\d+)", text)
        if found is None:
            return Outcome(None, f"compile error: {word} is not set")
        values[key] = int(found[1])
        if values[key] not in (choices := SPACE.parameters[KEYS.index(key)].choices):
            return Outcome(None, f"compile error: {word}={values[key]} is none of {choices}")
    return price(values, task)


def price(values: Mapping[str, int], task: KernelTask) -> Outcome:
    """Return the modelled time of a configuration."""
    block_m, block_n, block_k = (values[key] for key in KEYS[:3])
    shared = 2 * 2 * block_k * (block_m + block_n)
    if shared > _SHARED_BYTES:
        return Outcome(None, f"launch error: {shared} bytes of shared memory, {_SHARED_BYTES} fit")
    tiles = math.ceil(task.m / block_m) * math.ceil(task.n / block_n)
    rounds = math.ceil(tiles / _NUM_UNITS)
    depth = math.ceil(task.k / block_k)
    flop = 2.0 * block_m * block_n * block_k * depth
    wanted = block_m * block_n / 1024
    fit = math.exp(-0.5 * math.log2(values["warps"] / max(1.0, min(wanted, 16.0))) ** 2 / 4)
    # Small tiles load more for what they compute; short steps along k wait for memory.
    reuse = 1.0 / (1.0 + 24.0 / block_m + 24.0 / block_n + 8.0 / block_k)
    compute_us = rounds * flop / (_PEAK_FLOP_PER_US / _NUM_UNITS * fit * reuse)
    moved = rounds * _NUM_UNITS * 2.0 * block_k * depth * (block_m + block_n)
    memory_us = min(rounds, 8) / 8 * moved / _BYTES_PER_US
    padding = 1.0 - task.m * task.n / (tiles * block_m * block_n)
    idle = 1.0 - tiles / (rounds * _NUM_UNITS)
    time_us = _LAUNCH_US + 0.05 * depth + compute_us + memory_us
    return Outcome(
        time_us,
        f"{time_us:.1f} us; {100 * padding:.0f} % padding, {100 * idle:.0f} % of units idle,"
        f" warps fit {100 * fit:.0f} %",
    )


def compiled(task: KernelTask) -> float:
    """Return the time of a compiler's fixed rule: the block of its table nearest to the size."""
    block_m = 128 if task.m >= 2048 else 64
    block_n = 128 if task.n >= 2048 else 64
    values = {"block_m": block_m, "block_n": block_n, "block_k": 32, "warps": 4}
    return price(values, task).time_us or math.inf


def configuration(units: Mapping[str, float]) -> dict[str, int]:
    """Return the configuration at places of the unit interval."""
    return {p.key: int(value_at(p, units[p.key])) for p in SPACE}
