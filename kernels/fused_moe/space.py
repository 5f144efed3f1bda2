"""Configurations of the mixture of experts, named as vLLM's tuned files name them."""

from collections.abc import Mapping, Sequence

from arbor.kernels.architectures import Architecture
from arbor.kernels.base import Shape, dtype_bytes
from arbor.kernels.launching import Config


def choices(architecture: Architecture) -> Mapping[str, Sequence[int | str]]:
    """Return the values of every key."""
    is_hip = architecture.backend == "hip"
    common: dict[str, Sequence[int | str]] = {
        "BLOCK_SIZE_M": (16, 32, 64, 128, 256),
        "BLOCK_SIZE_N": (16, 32, 64, 128, 256),
        "BLOCK_SIZE_K": (32, 64, 128, 256),
        "GROUP_SIZE_M": (1, 4, 8, 16, 32),
        "num_warps": (2, 4, 8),
        "num_stages": (1, 2) if is_hip else (2, 3, 4, 5),
    }
    if is_hip:
        common |= {"waves_per_eu": (0, 1, 2, 4), "matrix_instr_nonkdim": (16, 32)}
    return common


def problem(config: Config, shape: Shape, dtype: str, architecture: Architecture) -> str:  # noqa: ARG001 - any shape
    """Return why a configuration cannot run; empty when it may."""
    block_m, block_n, block_k = (int(config[f"BLOCK_SIZE_{axis}"]) for axis in "MNK")
    stages = int(config["num_stages"])
    if architecture.backend == "hip":
        # the last stage lies in registers
        stages = max(stages - 1, 1)
    needed = (block_m + block_n) * block_k * dtype_bytes(dtype) * stages
    if needed > architecture.shared_bytes:
        return (
            f"{needed} bytes of shared memory; {architecture.name} has {architecture.shared_bytes}"
        )
    sums = block_m * block_n / (int(config["num_warps"]) * architecture.warp_size)
    if sums > architecture.num_registers / 2:
        return f"{sums:.0f} sums a thread spill"
    if int(config.get("matrix_instr_nonkdim", 0)) > min(block_m, block_n):
        return f"tiles of {block_m}x{block_n} are smaller than the instruction"
    return ""


def default(shape: Shape, dtype: str, architecture: Architecture) -> Config:
    """Return the configuration that is shipped for a shape."""
    is_hip = architecture.backend == "hip"
    tokens_per_expert = shape["num_tokens"] * shape["top_k"] / shape["num_experts"]
    block_m = next((m for m in (16, 32, 64) if tokens_per_expert <= m), 128)
    is_small = block_m <= 32
    config: dict[str, int | str] = {
        "BLOCK_SIZE_M": block_m,
        "BLOCK_SIZE_N": 64 if is_small else 128,
        "BLOCK_SIZE_K": 128 if is_small else 64,
        "GROUP_SIZE_M": 1 if is_small else 16,
        "num_warps": 4 if is_small else 8,
        "num_stages": 2 if is_hip else 4 if is_small else 3,
    }
    if dtype == "fp32":
        config |= {"BLOCK_SIZE_K": 32, "BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64}
        config["num_stages"] = 2
    if is_hip:
        config |= {"waves_per_eu": 2 if is_small else 0, "matrix_instr_nonkdim": 16}
    return config
