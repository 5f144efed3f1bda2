"""Stand-ins for models that write kernels: their priors are known, so studies can be checked."""

import random
import re
from collections.abc import Callable, Mapping

from arbor.studies.kernel_texts import Writer

_EXPLICIT = re.compile(r"The size is (\d+)\.")
_HABITS = ((1024, 4), (256, 4), (128, 8), (512, 8))
"""Block and warps of many tutorials, the most common first."""


class HabitWriter:
    """Writes what is most common whatever was asked; temperature strays from it."""

    name = "habit"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def write(self, prompt: str, temperature: float, seed: int) -> str:
        """Return a program with habitual parameters."""
        source = _source(self._seed, prompt, temperature, seed)
        is_straying = source.random() < temperature / 2.0
        block, warps = source.choice(_HABITS) if is_straying else _HABITS[0]
        return _program(block, warps)


class AttentiveWriter:
    """Fits the block to the size where the prompt speaks of it, and follows habit elsewhere."""

    name = "attentive"

    def __init__(self, seed: int) -> None:
        self._habit = HabitWriter(seed)

    def write(self, prompt: str, temperature: float, seed: int) -> str:
        """Return a program whose block suits the size that was named."""
        named = _EXPLICIT.search(prompt)
        if named is None:
            return self._habit.write(prompt, temperature, seed)
        block = 1 << max(4, min(int(named[1]), 4096).bit_length() - 1)
        return _program(block, 4 if block <= 1024 else 8)


class RandomWriter:
    """Chooses by chance alone: what few samples give for nothing."""

    name = "random"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def write(self, prompt: str, temperature: float, seed: int) -> str:
        """Return a program with arbitrary parameters."""
        source = _source(self._seed, prompt, temperature, seed)
        return _program(2 ** source.randint(4, 12), source.choice((1, 2, 4, 8)))


WRITERS: Mapping[str, Callable[[int], Writer]] = {
    "habit": HabitWriter,
    "attentive": AttentiveWriter,
    "random": RandomWriter,
}


def _program(block: int, warps: int) -> str:
    return (
        "@triton.jit\ndef kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):\n    ...\n\n"
        f"kernel[grid](x, out, n, BLOCK_SIZE={block}, num_warps={warps}, num_stages=2)\n"
    )


def _source(own: int, prompt: str, temperature: float, seed: int) -> random.Random:
    key = f"{own}:{prompt}:{temperature}:{seed}"
    return random.Random(key)  # noqa: S311 - a study, not a secret
