"""Configurations of paged decode attention."""

from collections.abc import Mapping, Sequence

from arbor.kernels.architectures import Architecture
from arbor.kernels.base import Shape, dtype_bytes
from arbor.kernels.launching import Config, ceil_div, next_power_of_2


def choices(architecture: Architecture) -> Mapping[str, Sequence[int | str]]:
    """Return the values of every key."""
    is_hip = architecture.backend == "hip"
    common: dict[str, Sequence[int | str]] = {
        "BLOCK_N": (16, 32, 64, 128, 256),
        "NUM_SPLITS": (1, 2, 4, 8, 16, 32, 64),
        "num_warps": (1, 2, 4, 8),
        "num_stages": (1, 2) if is_hip else (1, 2, 3, 4),
    }
    return common | {"waves_per_eu": (0, 1, 2, 4)} if is_hip else common


def problem(config: Config, shape: Shape, dtype: str, architecture: Architecture) -> str:
    """Return why a configuration cannot run; empty when it may."""
    block_n, splits = int(config["BLOCK_N"]), int(config["NUM_SPLITS"])
    if splits > 1 and splits > ceil_div(shape["length"], block_n):
        return f"{splits} parts of {shape['length']} tokens are shorter than a block"
    block_d = max(next_power_of_2(shape["head_size"]), 16)
    needed = 2 * block_n * block_d * dtype_bytes(dtype) * int(config["num_stages"])
    if needed > architecture.shared_bytes:
        return (
            f"{needed} bytes of shared memory; {architecture.name} has {architecture.shared_bytes}"
        )
    group = max(next_power_of_2(shape["num_heads"] // shape["num_kv_heads"]), 16)
    held = group * block_d + 2 * block_n * block_d
    per_thread = held / (int(config["num_warps"]) * architecture.warp_size)
    if per_thread > architecture.num_registers:
        return f"{per_thread:.0f} values a thread spill"
    return ""


def default(shape: Shape, dtype: str, architecture: Architecture) -> Config:
    """Return the configuration that is shipped for a shape."""
    is_hip = architecture.backend == "hip"
    # 32-bit products have no matrix unit on NVIDIA, and their operands fill the registers
    block_n = 16 if dtype == "fp32" else 64
    programs = shape["num_seqs"] * shape["num_kv_heads"]
    splits = 1
    while (
        splits * programs < 2 * architecture.num_processors
        and splits < 64
        and ceil_div(shape["length"], block_n) >= 4 * splits
    ):
        splits *= 2
    config: dict[str, int | str] = {
        "BLOCK_N": block_n,
        "NUM_SPLITS": splits,
        "num_warps": 8 if dtype == "fp32" else 4,
        "num_stages": 1 if is_hip else 2,
    }
    return config | {"waves_per_eu": 2} if is_hip else config
