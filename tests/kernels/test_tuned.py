"""Tuned configurations are found again: exact shapes, near ones, and the shipped one."""

import json
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

from arbor.kernels.architectures import ARCHITECTURES, KernelInputError
from arbor.kernels.fused_moe.vllm_configs import write_vllm_files
from arbor.kernels.registry import create_operator
from arbor.kernels.tuned import TunedConfigs, TunedShape, tuned_from_environment, write_tuned

SM_90 = ARCHITECTURES["sm_90"]
ENVIRONMENT = {"device": "NVIDIA H200", "architecture": "sm_90"}


def tuned(width: int, block_n: int) -> TunedShape:
    config = {"BLOCK_N": block_n, "num_warps": 4}
    return TunedShape({"num_rows": 64, "width": width}, config, 5.0, 6.0, "graph", 1e-3, 40)


def test_the_nearest_shape_decides(tmp_path: Path) -> None:
    operator = create_operator("silu_and_mul")
    write_tuned(tmp_path, "silu_and_mul", "bf16", ENVIRONMENT, [tuned(1024, 512)])
    write_tuned(tmp_path, "silu_and_mul", "bf16", ENVIRONMENT, [tuned(8192, 4096)])
    configs = TunedConfigs(tmp_path, "NVIDIA H200")

    def block_n(width: int, dtype: str = "bf16") -> object:
        shape = {"num_rows": 64, "width": width}
        return configs.config(operator, shape, dtype, SM_90)["BLOCK_N"]

    assert block_n(1024) == block_n(1500) == 512
    assert block_n(8192) == block_n(100_000) == 4096
    shape = {"num_rows": 64, "width": 8192}
    shipped = operator.space.default(shape, "fp16", SM_90)
    assert configs.config(operator, shape, "fp16", SM_90) == shipped
    assert TunedConfigs(None, "NVIDIA H200").config(operator, shape, "bf16", SM_90) == shipped


def test_what_cannot_run_at_a_shape_is_passed_over(tmp_path: Path) -> None:
    operator = create_operator("silu_and_mul")
    write_tuned(tmp_path, "silu_and_mul", "bf16", ENVIRONMENT, [tuned(8192, 4096)])
    shape = {"num_rows": 64, "width": 100}
    found = TunedConfigs(tmp_path, "NVIDIA H200").config(operator, shape, "bf16", SM_90)
    assert found == operator.space.default(shape, "bf16", SM_90)


def test_tuning_again_replaces_only_its_shapes(tmp_path: Path) -> None:
    write_tuned(tmp_path, "o", "bf16", ENVIRONMENT, [tuned(1024, 512), tuned(2048, 512)])
    path = write_tuned(tmp_path, "o", "bf16", ENVIRONMENT, [tuned(1024, 256)])
    shapes = json.loads(path.read_text())["shapes"]
    assert [(s["shape"]["width"], s["config"]["BLOCK_N"]) for s in shapes] == [
        (2048, 512),
        (1024, 256),
    ]


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operator, shape = create_operator("silu_and_mul"), {"num_rows": 64, "width": 1024}
    write_tuned(tmp_path, "silu_and_mul", "bf16", ENVIRONMENT, [tuned(1024, 256)])
    monkeypatch.setenv("ARBOR_KERNEL_CONFIGS", str(tmp_path))
    configs = tuned_from_environment("NVIDIA H200")
    assert configs.config(operator, shape, "bf16", SM_90)["BLOCK_N"] == 256
    monkeypatch.delenv("ARBOR_KERNEL_CONFIGS")
    assert tuned_from_environment("x").config(operator, shape, "bf16", SM_90)["BLOCK_N"] != 256


def test_a_broken_file_is_one_line(tmp_path: Path) -> None:
    path = write_tuned(tmp_path, "silu_and_mul", "bf16", ENVIRONMENT, [tuned(1024, 512)])
    configs = TunedConfigs(tmp_path, "NVIDIA H200")
    shape = {"num_rows": 1, "width": 8}
    path.write_text("{")
    with pytest.raises(KernelInputError, match="is no JSON"):
        configs.config(create_operator("silu_and_mul"), shape, "bf16", SM_90)
    path.write_text('{"format": 7}')
    with pytest.raises(KernelInputError, match="format 7, not 1"):
        configs.config(create_operator("silu_and_mul"), shape, "bf16", SM_90)


def test_files_for_vllm(tmp_path: Path) -> None:
    operator = create_operator("fused_moe")
    shapes = [
        TunedShape(
            shape, operator.space.default(shape, "bf16", SM_90), 5.0, 6.0, "graph", 1e-3, 40
        )
        for shape in operator.shipped_shapes
    ]
    paths = write_vllm_files(tmp_path, "NVIDIA H200", "3.6.0", shapes)
    assert sorted(path.name for path in paths) == [
        "E=128,N=768,device_name=NVIDIA_H200.json",
        "E=8,N=14336,device_name=NVIDIA_H200.json",
    ]
    document = json.loads(paths[0].read_text())
    # what the loader does: drop the version, and take keys as numbers
    assert document.pop("triton_version") == "3.6.0"
    assert [int(key) for key in document] == [1, 64, 2048]
    assert set(document["1"]) == {
        "BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages",
    }  # fmt: skip
    (amd,) = write_vllm_files(tmp_path, "AMD Instinct MI300X", "3.6.0", shapes[:1])
    assert amd.name == "E=8,N=14336,device_name=AMD_Instinct_MI300X.json"
