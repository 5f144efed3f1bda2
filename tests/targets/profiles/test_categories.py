"""Every kernel name that public traces and sources gave has the category that people give it."""

from pathlib import Path

import pytest

from arbor.targets.profiles.categories import kernel_category, operator_category

NAMES = [
    line.split("\t")
    for line in Path(__file__).with_name("kernel_names.tsv").read_text().splitlines()
]


def test_the_list_is_whole() -> None:
    assert len(NAMES) == 76
    assert len({name for _, name in NAMES}) == 76


@pytest.mark.parametrize(("category", "name"), NAMES)
def test_names_of_kernels(category: str, name: str) -> None:
    assert kernel_category(name) == category


def test_a_fused_softmax_of_inductor_is_elementwise_and_a_template_is_a_product() -> None:
    assert kernel_category("triton_per_fused__softmax_mul_3") == "norm_act_elementwise"
    assert kernel_category("triton_tem_fused_mm_1") == "gemm"


def test_unknown_names_are_other() -> None:
    assert kernel_category("zzz") == "other"


@pytest.mark.parametrize(
    ("category", "name"),
    [
        ("gemm", "aten::addmm"),
        ("gemm", "_C::onednn_scaled_mm"),
        ("gemm", "zentorch::zentorch_linear_unary"),
        ("attention", "_C::cpu_attention_with_kv_cache"),
        ("attention", "aten::scaled_dot_product_attention"),
        ("attention", "_C::cpu_attn_reshape_and_cache"),
        ("moe", "zentorch::zentorch_fused_moe"),
        ("sampling", "aten::argmax"),
        ("comm", "c10d::allreduce_"),
        ("norm_act_elementwise", "## Call CompiledFxGraph None ##"),
        ("norm_act_elementwise", "_C::fused_add_rms_norm"),
        ("norm_act_elementwise", "aten::mul_"),
        ("norm_act_elementwise", "aten::copy_"),
        ("other", "aten::empty"),
    ],
)
def test_operators_of_a_processor(category: str, name: str) -> None:
    assert operator_category(name) == category
