"""What is shipped compiles for accelerators that are not here, within their limits."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

from arbor.kernels.architectures import ARCHITECTURES
from arbor.kernels.proof.compiling import sources_of
from arbor.kernels.proof.proving import ProofCache, all_configs, prove, shipped_proofs
from arbor.kernels.registry import create_operator, operator_names

# Triton tells of a default that will change
pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> ProofCache:
    return ProofCache(tmp_path_factory.mktemp("proofs"))


@pytest.mark.parametrize("architecture", sorted(ARCHITECTURES))
@pytest.mark.parametrize("name", operator_names())
def test_shipped_kernels_compile_within_limits(
    name: str, architecture: str, cache: ProofCache
) -> None:
    operator = create_operator(name)
    proofs = list(shipped_proofs(operator, [ARCHITECTURES[architecture]], cache))
    assert len(proofs) == len(operator.shipped_shapes) * len(operator.shipped_dtypes)
    assert [(each.dtype, each.shape, each.problem) for each in proofs if each.problem] == []
    assert all(each.kernels for each in proofs)
    for each in proofs:
        if operator.has_products:
            assert any(kernel.num_matrix_instructions for kernel in each.kernels)


@pytest.mark.parametrize("name", operator_names())
def test_odd_shapes_compile(name: str, cache: ProofCache) -> None:
    # sizes of 1 are compiled into a kernel, which the interpreter never does
    operator, gfx942 = create_operator(name), ARCHITECTURES["gfx942"]
    for shape in (*operator.odd_shapes, dict.fromkeys(operator.dimensions, 1)):
        config = operator.space.default(shape, "bf16", gfx942)
        problem = prove(operator, shape, "bf16", config, gfx942, cache=cache).problem
        # rows that are not aligned need more registers; that they may spill is not an error here
        assert not problem or problem.endswith("registers spilled"), (shape, problem)


def test_a_split_sum_of_one_element_compiles(cache: ProofCache) -> None:
    operator, gfx942 = create_operator("matmul"), ARCHITECTURES["gfx942"]
    shape = {"m": 1, "n": 1, "k": 4096}
    config = operator.space.default(shape, "bf16", gfx942)
    proof = prove(operator, shape, "bf16", config, gfx942, cache=cache)
    assert proof.problem == ""
    assert [each.name for each in proof.kernels] == ["matmul_kernel", "sum_splits_kernel"]


def test_large_products_use_the_large_instructions(cache: ProofCache) -> None:
    operator = create_operator("matmul")
    shape = {"m": 8192, "n": 8192, "k": 8192}
    expected = {
        "gfx942": "v_mfma_f32_",
        "gfx950": "v_mfma_f32_",
        "sm_90": "wgmma",
        "sm_100": "tcgen05",
    }
    for name, start in expected.items():
        architecture = ARCHITECTURES[name]
        for dtype in ("bf16", "fp8"):
            config = operator.space.default(shape, dtype, architecture)
            proof = prove(operator, shape, dtype, config, architecture, cache=cache)
            names = [n for kernel in proof.kernels for n in kernel.matrix_instructions]
            assert names
            assert all(n.startswith(start) for n in names), (name, dtype, names)


def test_what_the_compiler_refuses_is_a_problem(cache: ProofCache) -> None:
    operator = create_operator("matmul")
    sm_90 = ARCHITECTURES["sm_90"]
    shape = {"m": 512, "n": 512, "k": 512}
    config = dict(operator.space.default(shape, "fp8", sm_90)) | {
        "VARIANT": "descriptors",
        "SPLIT_K": 1,
        "BLOCK_M": 128,
        "BLOCK_N": 256,
        "num_warps": 4,
    }
    proof = prove(operator, shape, "fp8", config, sm_90, cache=cache)
    assert proof.problem
    too_large = dict(config) | {"BLOCK_M": 256, "BLOCK_K": 256, "num_stages": 5}
    ruled_out = prove(operator, shape, "fp8", too_large, sm_90, cache=cache)
    assert "bytes of shared memory; sm_90 has 232448" in ruled_out.problem
    assert ruled_out.kernels == ()


def test_a_proof_is_found_again(tmp_path: Path) -> None:
    operator = create_operator("softmax")
    gfx942 = ARCHITECTURES["gfx942"]
    shape = operator.shipped_shapes[0]
    config = operator.space.default(shape, "bf16", gfx942)
    first = prove(operator, shape, "bf16", config, gfx942, cache=ProofCache(tmp_path))
    files = list(tmp_path.iterdir())
    assert len(files) == 1
    files[0].write_text(files[0].read_text().replace('"num_spills": 0', '"num_spills": 7'))
    again = prove(operator, shape, "bf16", config, gfx942, cache=ProofCache(tmp_path))
    assert first.problem == ""
    assert again.problem == "softmax_kernel: 7 registers spilled"


def test_specialisation_follows_the_values() -> None:
    operator = create_operator("softmax")
    gfx942 = ARCHITECTURES["gfx942"]
    config = operator.space.default({"num_rows": 1, "width": 1000}, "bf16", gfx942)
    (odd,) = sources_of(operator, {"num_rows": 1, "width": 1000}, "bf16", config, gfx942)
    (even,) = sources_of(operator, {"num_rows": 2, "width": 1024}, "bf16", config, gfx942)
    assert odd.constants["num_rows"] == 1
    assert odd.signature["width"] == even.signature["width"] == "i32"
    width = odd.launch.kernel.arg_names.index("width")
    assert (width,) not in odd.attributes
    assert (width,) in even.attributes
    assert odd.describe() != even.describe()


def test_a_space_is_the_product_of_its_choices() -> None:
    operator = create_operator("silu_and_mul")
    configs = list(all_configs(operator, ARCHITECTURES["sm_90"]))
    assert len(configs) == 8 * 5
    assert {"BLOCK_N": 64, "num_warps": 1} in configs
