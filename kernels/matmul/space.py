"""Configurations of the matrix product."""

from collections.abc import Mapping, Sequence

from arbor.kernels.architectures import Architecture
from arbor.kernels.base import Shape, dtype_bytes
from arbor.kernels.launching import Config, ceil_div

_OUTPUT_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 2}
_ALIGNMENT_BYTES = 16
MAX_SPLITS = 16
_MIN_SPLIT_BLOCKS = 2
"""Blocks of k that a part of a split sum must have."""


def choices(architecture: Architecture) -> Mapping[str, Sequence[int | str]]:
    """Return the values of every key."""
    common: dict[str, Sequence[int | str]] = {
        "BLOCK_M": (16, 32, 64, 128, 256),
        "BLOCK_N": (16, 32, 64, 128, 256),
        "BLOCK_K": (32, 64, 128, 256),
        "GROUP_M": (1, 4, 8, 16),
        "SPLIT_K": (1, 2, 4, 8, MAX_SPLITS),
        "num_warps": (2, 4, 8),
        "num_stages": (2, 3, 4, 5) if architecture.backend == "cuda" else (1, 2, 3),
    }
    if architecture.backend == "hip":
        common["waves_per_eu"] = (0, 2, 4)
        common["matrix_instr_nonkdim"] = (16, 32)
        return common
    return {"VARIANT": ("loads", "descriptors"), **common}


def shared_bytes(config: Config, dtype: str, architecture: Architecture) -> int:
    """Return the shared memory that the stages of a pipeline need at least."""
    block_m, block_n, block_k = (int(config[f"BLOCK_{axis}"]) for axis in "MNK")
    stages = int(config["num_stages"])
    if architecture.backend == "hip":
        # the last stage lies in registers
        stages = max(stages - 1, 1)
    return (block_m + block_n) * block_k * dtype_bytes(dtype) * stages


def problem(config: Config, shape: Shape, dtype: str, architecture: Architecture) -> str:
    """Return why a configuration cannot run; empty when it may."""
    block_m, block_n, block_k = (int(config[f"BLOCK_{axis}"]) for axis in "MNK")
    needed = shared_bytes(config, dtype, architecture)
    if needed > architecture.shared_bytes:
        return (
            f"{needed} bytes of shared memory; {architecture.name} has {architecture.shared_bytes}"
        )
    threads = int(config["num_warps"]) * architecture.warp_size
    # sums, in 32-bit registers; half of a thread's registers are needed for everything else
    sums = block_m * block_n / threads
    if sums > architecture.num_registers * 3 / 4:
        return f"{sums:.0f} sums a thread spill"
    splits = int(config["SPLIT_K"])
    if splits > 1 and ceil_div(shape["k"], block_k) < _MIN_SPLIT_BLOCKS * splits:
        return f"k={shape['k']} is too short for {splits} parts of blocks of {block_k}"
    nonkdim = int(config.get("matrix_instr_nonkdim", 0))
    if nonkdim > min(block_m, block_n):
        return f"tiles of {block_m}x{block_n} are smaller than the instruction's {nonkdim}"
    if config.get("VARIANT") == "descriptors":
        return _descriptor_problem(config, shape, dtype)
    return ""


def _descriptor_problem(config: Config, shape: Shape, dtype: str) -> str:
    if int(config["SPLIT_K"]) > 1:
        return "descriptors are not combined with a split sum"
    if dtype == "fp32":
        return "descriptors are for 16 and 8 bits: fp32 products would be rounded to tf32"
    row_bytes = shape["k"] * dtype_bytes(dtype), shape["n"] * _OUTPUT_BYTES[dtype]
    if any(each % _ALIGNMENT_BYTES for each in row_bytes):
        return f"rows of {row_bytes} bytes are no multiples of {_ALIGNMENT_BYTES}"
    return ""


def default(shape: Shape, dtype: str, architecture: Architecture) -> Config:
    """Return the configuration that is shipped for a shape."""
    m, n = shape["m"], shape["n"]
    is_skinny = m <= 64
    is_hip = architecture.backend == "hip"
    config: dict[str, int | str] = {} if is_hip else {"VARIANT": "loads"}
    if dtype == "fp32":
        config |= {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 8, "num_stages": 2}
    elif is_skinny:
        block_m = 16 if m <= 16 else 32 if m <= 32 else 64
        # narrow tiles fill the device without splitting the sum, which costs a second kernel
        block_n = 32 if n <= 64 * architecture.num_processors else 64
        config |= {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": 128, "num_warps": 4}
        config["num_stages"] = 2 if is_hip else 4
    else:
        # promoted fp8 sums need twice the registers: 256 columns spill on sm_90
        block_n, block_k = (128, 128) if dtype == "fp8" else (256, 64)
        config |= {"BLOCK_M": 128, "BLOCK_N": block_n, "BLOCK_K": block_k, "num_warps": 8}
        config["num_stages"] = 2 if is_hip else 3
    config |= {"GROUP_M": 8, "SPLIT_K": _splits(shape, config, architecture)}
    if is_hip:
        config |= {"waves_per_eu": 2 if is_skinny else 0, "matrix_instr_nonkdim": 16}
    elif not is_skinny:
        as_descriptors = config | {"VARIANT": "descriptors"}
        if not problem(as_descriptors, shape, dtype, architecture):
            return as_descriptors
    return config


def _splits(shape: Shape, config: Config, architecture: Architecture) -> int:
    """Return how many parts of k give three quarters of the processors a program."""
    num_blocks = ceil_div(shape["k"], int(config["BLOCK_K"]))
    tiles = ceil_div(shape["m"], int(config["BLOCK_M"])) * ceil_div(
        shape["n"], int(config["BLOCK_N"])
    )
    splits = 1
    while (
        4 * splits * tiles < 3 * architecture.num_processors
        and splits < MAX_SPLITS
        and num_blocks >= _MIN_SPLIT_BLOCKS * 2 * splits
    ):
        splits *= 2
    return splits
