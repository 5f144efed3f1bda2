"""The space of kernels that take whole rows: how many rows, how wide a block, how many warps."""

from collections.abc import Mapping, Sequence

from arbor.kernels.architectures import Architecture
from arbor.kernels.launching import Config, next_power_of_2

MAX_ELEMENTS_PER_THREAD = 128
"""More float32 values than this do not stay in the registers of a thread."""
MIN_BLOCK_N = 64
"""Narrower rows leave a block of this size partly empty."""


def rowwise_choices(architecture: Architecture) -> Mapping[str, Sequence[int | str]]:
    """Return rows, columns and warps of a program."""
    warps = (1, 2, 4, 8, 16) if architecture.warp_size == 64 else (1, 2, 4, 8, 16, 32)
    return {
        "BLOCK_M": (1, 2, 4, 8, 16),
        "BLOCK_N": (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768),
        "num_warps": warps,
    }


def rowwise_problem(config: Config, width: int, architecture: Architecture) -> str:
    """Return why a program of this size cannot run well; empty when it may.

    Args:
        config: with ``BLOCK_M``, ``BLOCK_N`` and ``num_warps``.
        width: columns of a row.
        architecture: whose threads are counted.
    """
    block_m, block_n = int(config["BLOCK_M"]), int(config["BLOCK_N"])
    num_threads = int(config["num_warps"]) * architecture.warp_size
    per_thread = block_m * block_n / num_threads
    if per_thread > MAX_ELEMENTS_PER_THREAD:
        return f"{per_thread:.0f} elements a thread spill; the limit is {MAX_ELEMENTS_PER_THREAD}"
    if per_thread < 1:
        return f"{num_threads} threads have only {block_m * block_n} elements"
    if block_n > MIN_BLOCK_N and block_n >= 2 * next_power_of_2(width):
        return f"a block of {block_n} columns is at least half empty at width {width}"
    return ""


def rowwise_default(width: int, architecture: Architecture, elements_per_thread: int) -> Config:
    """Return whole rows while they fit, and enough warps to keep memory busy."""
    block_n = min(max(next_power_of_2(width), MIN_BLOCK_N), 16384)
    block_m = max(1, min(4, 1024 // block_n))
    threads = block_m * block_n // elements_per_thread
    num_warps = max(1, min(16, threads // architecture.warp_size))
    return {"BLOCK_M": block_m, "BLOCK_N": block_n, "num_warps": num_warps}
