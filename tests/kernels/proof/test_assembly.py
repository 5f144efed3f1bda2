"""Figures are read from real excerpts of assembly and of cuobjdump's text."""

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

from arbor.kernels.architectures import ARCHITECTURES
from arbor.kernels.proof.assembly import (
    KernelFigures,
    matrix_instructions,
    parse_resource_usage,
)

AMD = """
	v_mfma_f32_16x16x16_bf16 v[0:3], v[8:9], v[10:11], v[0:3]
	; v_mfma_f32_32x32x8_f16 is only a comment
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[8:9], v[10:11], a[0:3]
"""
HOPPER = """
	// begin inline asm
	@%p1 wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%r1,%r2}, %rd1, %rd2, p, 1, 1;
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %r1 }, { %r2 }, { %r3 }, { %r4 };
	mov.b32 %r1, 0;
"""
USAGE = """
Resource usage:
 Common:
  GLOBAL:0
 Function matmul_kernel:
  REG:255 STACK:96 SHARED:0 LOCAL:0 CONSTANT[0]:632 TEXTURE:0 SURFACE:0 SAMPLER:0
"""


def test_matrix_instructions_are_counted() -> None:
    assert matrix_instructions(AMD, ARCHITECTURES["gfx942"]) == [
        "v_mfma_f32_16x16x16_bf16",
        "v_mfma_f32_16x16x32_fp8_fp8",
    ]
    found = matrix_instructions(HOPPER, ARCHITECTURES["sm_90"])
    assert [name.split(".")[0] for name in found] == ["wgmma", "mma"]
    assert matrix_instructions(HOPPER, ARCHITECTURES["gfx950"]) == []


def test_spills_of_nvidia_are_words_on_the_stack() -> None:
    assert parse_resource_usage(USAGE) == (255, 24)
    with pytest.raises(ValueError, match="no resource usage"):
        parse_resource_usage("cuobjdump fatal")


def test_limits() -> None:
    gfx942 = ARCHITECTURES["gfx942"]
    fits = KernelFigures("k", 512, 0, 65_536, 1, ("v_mfma",), 10)
    assert fits.excess(gfx942) == ""
    spilled = KernelFigures("k", 512, 3, 65_536, 1, ("v_mfma",), 10)
    assert spilled.excess(gfx942) == "3 registers spilled"
    large = KernelFigures("k", 10, 0, 65_537, 1, ("v_mfma",), 10)
    assert large.excess(gfx942) == "65537 bytes of shared memory > 65536"
    assert large.excess(ARCHITECTURES["gfx950"]) == ""
