"""Writes tuned mixtures of experts as the files that vLLM's loader reads."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arbor.kernels.tuned import TunedShape, device_file_name


def write_vllm_files(
    folder: Path, device_name: str, triton_version: str, shapes: Sequence[TunedShape]
) -> list[Path]:
    """Write one file for each pair of experts and width, its keys being numbers of tokens.

    vLLM looks in the folder that ``VLLM_TUNED_CONFIG_FOLDER`` names for
    ``E=<experts>,N=<width>,device_name=<device>.json``; bf16 and fp16 have no dtype in the name
    (``get_config_file_name`` and ``get_moe_configs`` of vLLM 0.24).

    Args:
        folder: made when it is missing.
        device_name: as PyTorch names it.
        triton_version: noted in the file.
        shapes: tuned shapes of ``fused_moe``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # vLLM has one name for the whole family
    device = "NVIDIA_H200" if "H200" in device_name.split() else device_file_name(device_name)
    groups: dict[tuple[int, int], dict[str, Mapping[str, Any]]] = {}
    for each in sorted(shapes, key=lambda tuned: tuned.shape["num_tokens"]):
        key = each.shape["num_experts"], each.shape["width"]
        groups.setdefault(key, {})[str(each.shape["num_tokens"])] = dict(each.config)
    paths = []
    for (experts, width), by_tokens in groups.items():
        path = folder / f"E={experts},N={width},device_name={device}.json"
        path.write_text(
            json.dumps({"triton_version": triton_version, **by_tokens}, indent=4) + "\n"
        )
        paths.append(path)
    return paths
