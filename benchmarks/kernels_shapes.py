"""Shapes that kernels were not tuned for, drawn by seed."""

import math
import random

from arbor.kernels.base import Operator, Shape

NUM_TEST_SHAPES = {"matmul": 10, "paged_decode": 3, "fused_moe": 3}
NUM_TEST_SHAPES_ELSE = 5


def drawn_shapes(operator: Operator, seed: int) -> list[Shape]:
    """Return shapes that were not tuned, drawn after tuning; sizes lie between tuned ones."""
    stream = random.Random(f"{seed} {operator.name}")  # noqa: S311 - a sample, not a secret
    shapes: list[Shape] = []
    while len(shapes) < NUM_TEST_SHAPES.get(operator.name, NUM_TEST_SHAPES_ELSE):
        shape = _drawn(operator.name, stream)
        if shape not in operator.tuned_shapes() and shape not in shapes:
            shapes.append(shape)
    return shapes


def _drawn(name: str, stream: random.Random) -> Shape:
    def between(low: int, high: int, step: int = 1) -> int:
        value = math.exp(stream.uniform(math.log(low), math.log(high)))
        return max(step, round(value / step) * step)

    if name == "matmul":
        n, k = stream.choice(
            ((4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336), (8192, 8192))
        )
        return {"m": between(1, 64), "n": n, "k": k}
    if name == "paged_decode":
        return {
            "num_seqs": between(4, 128),
            "num_heads": 32,
            "num_kv_heads": 8,
            "head_size": 128,
            "block_size": 16,
            "length": between(512, 8192),
        }
    if name == "fused_moe":
        experts = stream.choice(((8, 2, 4096, 14336), (128, 8, 2048, 768)))
        names = ("num_experts", "top_k", "hidden", "width")
        return {"num_tokens": between(1, 2048), **dict(zip(names, experts, strict=True))}
    # large enough to be bound by memory and not by the launch
    width = stream.choice((2816, 3072, 5120, 7168)) if name != "softmax" else between(1000, 9000)
    return {"num_rows": between(4096, 16384), "width": width}
