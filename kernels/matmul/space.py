"""Configurations of the matrix product."""

from collections.abc import Mapping, Sequence

from arbor.kernels.architectures import Architecture
from arbor.kernels.base import Shape, dtype_bytes
from arbor.kernels.launching import Config, ceil_div

_OUTPUT_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 2}
_ALIGNMENT_BYTES = 16
_MIN_SPLIT_BLOCKS = 2
"""Blocks of k that a part of a split sum must have."""
_NUM_PROCESSORS = 128
"""Processors of a device, roughly; a product with fewer tiles is split along k."""


def choices(architecture: Architecture) -> Mapping[str, Sequence[int | str]]:
    """Return the values of every key."""
    common: dict[str, Sequence[int | str]] = {
        "BLOCK_M": (16, 32, 64, 128, 256),
        "BLOCK_N": (16, 32, 64, 128, 256),
        "BLOCK_K": (32, 64, 128, 256),
        "GROUP_M": (1, 4, 8, 16),
        "SPLIT_K": (1, 2, 4, 8, 16),
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
    m, n, k = shape["m"], shape["n"], shape["k"]
    is_skinny = m <= 64  # noqa: PLR2004 - one tile high
    is_hip = architecture.backend == "hip"
    config: dict[str, int | str] = {} if is_hip else {"VARIANT": "loads"}
    if dtype == "fp32":
        config |= {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 8, "num_stages": 2}
    elif is_skinny:
        block_m = 16 if m <= 16 else 32 if m <= 32 else 64  # noqa: PLR2004 - sizes of tiles
        config |= {"BLOCK_M": block_m, "BLOCK_N": 64, "BLOCK_K": 128, "num_warps": 4}
        config["num_stages"] = 2 if is_hip else 4
    else:
        # promoted fp8 sums need twice the registers: 256 columns spill on sm_90
        block_n, block_k = (128, 128) if dtype == "fp8" else (256, 64)
        config |= {"BLOCK_M": 128, "BLOCK_N": block_n, "BLOCK_K": block_k, "num_warps": 8}
        config["num_stages"] = 2 if is_hip else 3
    config |= {"GROUP_M": 8, "SPLIT_K": _splits(m, n, k, config)}
    if is_hip:
        config |= {"waves_per_eu": 2 if is_skinny else 0, "matrix_instr_nonkdim": 16}
    elif not is_skinny:
        as_descriptors = config | {"VARIANT": "descriptors"}
        if not problem(as_descriptors, shape, dtype, architecture):
            return as_descriptors
    return config


def _splits(m: int, n: int, k: int, config: Config) -> int:
    block_k = int(config["BLOCK_K"])
    tiles = ceil_div(m, int(config["BLOCK_M"])) * ceil_div(n, int(config["BLOCK_N"]))
    splits = 1
    while (
        2 * splits * tiles <= 2 * _NUM_PROCESSORS
        and splits < 16  # noqa: PLR2004 - the largest of the choices
        and ceil_div(k, block_k) >= _MIN_SPLIT_BLOCKS * 2 * splits
    ):
        splits *= 2
    return splits
