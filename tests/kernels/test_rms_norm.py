"""RMSNorm: numerics in the interpreter, and compilation for GPUs that are not here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

INTERPRET = Path(__file__).with_name("interpret_rms_norm.py")
ROOT = Path(__file__).resolve().parents[2]

COMPILE = """
import sys
import triton
from triton.backends.compiler import GPUTarget
from arbor.kernels.rms_norm.kernel import rms_norm_kernel
kind, arch, warp, asm = sys.argv[1:]
source = triton.compiler.ASTSource(
    rms_norm_kernel,
    signature={
        "x_ptr": "*bf16", "residual_ptr": "*bf16", "weight_ptr": "*bf16", "y_ptr": "*bf16",
        "total_ptr": "*bf16", "stride_m": "i64", "width": "i32", "epsilon": "fp32",
        "HAS_RESIDUAL": "constexpr", "BLOCK_N": "constexpr",
    },
    constexprs={"HAS_RESIDUAL": True, "BLOCK_N": 1024},
)
arch = int(arch) if arch.isdigit() else arch
compiled = triton.compile(source, target=GPUTarget(kind, arch, int(warp)))
print(len(compiled.asm[asm]) > 1000 and compiled.metadata.shared)
"""


def _child(arguments: list[str], **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_the_kernel_agrees_with_float64_and_writes_nowhere_else() -> None:
    assert _child([str(INTERPRET)], TRITON_INTERPRET="1") == "ok"


@pytest.mark.parametrize(
    ("target", "lds_bytes"),
    [
        (("hip", "gfx942", "64", "amdgcn"), 65_536),
        (("hip", "gfx950", "64", "amdgcn"), 163_840),
        (("cuda", "90", "32", "ptx"), 232_448),
    ],
)
def test_the_kernel_compiles_for(target: tuple[str, ...], lds_bytes: int, tmp_path: Path) -> None:
    shared = _child(["-c", COMPILE, *target], TRITON_CACHE_DIR=str(tmp_path))
    assert 0 <= int(shared) <= lds_bytes
