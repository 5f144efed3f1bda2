"""Names of kernels and of processor operators to categories: ordered tables, first match wins.

``docs/design/profiles.md`` says what each category holds and where the borderline cases went.
"""

import re
from functools import cache
from typing import Literal

Category = Literal[
    "memcpy", "comm", "moe", "attention", "sampling", "gemm", "norm_act_elementwise", "other"
]
Rules = tuple[tuple[Category, str], ...]

KERNELS: Rules = (
    # inductor names a kernel after all that it fused, a softmax included
    ("norm_act_elementwise", r"^triton_(poi|red|per)_"),
    (
        "memcpy",
        (
            r"^(Memcpy|Memset)\b|memcpy(HtoD|DtoH|DtoD|PtoP)|\bCopy(Host|Device)To(Host|Device)\b"
            r"|MEMORY_COPY|__amd_rocclr_(copy|fill)Buffer|hipMemcpy|hipMemset|CUDA mem(cpy|set)"
        ),
    ),
    (
        "comm",
        (
            r"nccl|rccl|mscclKernel|cross_device_reduce|custom_?all_?reduce"
            r"|allreduce_(prototype|fusion)|all_?reduce_(one|two)shot|quickreduce|multimem_"
            r"|(one|two)_?shot_all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|a2a_|deep_?ep"
            r"|mori::|Ep(Dispatch|Combine)|nvshmem|rocshmem|trtllm_.*allreduce|moefinalize_allreduce"
        ),
    ),
    (
        "moe",
        (
            r"fmoe|[Mm]oe(Gemm|Routing|Sorting|TopK|FC|_wna16)|fused_?moe"
            r"|moe_?(gemm|ck|sort|sum|align|fused|topk|gating|smooth|mxgemm|finalize)|kernel_moe|_moe_"
            r"|moe::|MOE|topkGating|topk_?gating|topk_?softmax|grouped_topk|biased_grouped"
            r"|group_gemm_starts|GroupProblemShape|grouped_gemm|_group_gemm|matmul_ogs"
            r"|_combined_routing|_topk_forward|_sum_bitmatrix|_compute_writeback|expert"
            r"|count_and_sort_expert|permute_|silu_and_mul_masked"
            r"|bmm_.*(MxE|E2m1|E4m3).*(_routed|swiglu|geGlu)|triton_kernels"
        ),
    ),
    (
        "attention",
        (
            r"flash(?!infer)|Flash(?!Infer|infer)|[Ff]mha|FMHA|_attn|attn_|attention|paged_att"
            r"|pa_(fwd|decode|prefill|bf16|fp8|mtp|ps|kernel|sparse)|^pa_|mla_|_mla|_fwd_kernel"
            r"|_fwd_grouped_kernel|reduce_segments|merge_attn|BatchDecode|BatchPrefill"
            r"|PersistentVariableLengthMergeStates|mqa_logits|indexer|sparse_prefill"
            r"|chunk_gated_delta|gated_delta_rule|selective_scan|causal_conv1d|_state_passing"
            r"|chunk_(fwd|scan|state)|reshape_and_cache|concat_and_cache|cp_gather|kv_cache"
        ),
    ),
    (
        "sampling",
        (
            r"sampl|top_?[kp]_?(mask|renorm|sampling|top)|TopK|topk_|sbtopk|gatherTopK|radix_?sort"
            r"|RadixSort|DeviceSegmentedRadix|bitonic|SoftMax|softmax|argmax|ArgMax"
            r"|apply_repetition|apply_penalt|rejection_|exponential|philox|multinomial|logit"
        ),
    ),
    (
        "gemm",
        (
            r"Cijk_|nvjet|gemm|GEMM|Gemm|gemv|wvSplitK|LLGemm|LLMM1|splitKreduce|cublas|cutlass"
            r"|ampere_|sm\d+_xmma|matmul|marlin|Marlin|machete|_BpreShuffle|tensorop|s\d+816"
            r"|hipblaslt|_bmm|bmm_|triton_mm|triton_tem_fused"
        ),
    ),
    (
        "norm_act_elementwise",
        (
            r"rms_?norm|RMSNorm|layer_?norm|Norm|_norm|act_and_mul|silu|swiglu|gelu|rotary|Rotary|rope"
            r"|_sbhd|kn_entry|quant|Quant|cvt_|scaled_fp8|per_token|mxfp4|cast|elementwise|Elementwise"
            r"|vectorized|CatArrayBatched|index_(put|select|copy)|gather|scatter|reduce_kernel"
            r"|unrolled|fill_|copy_|where|embedding|arange|cumsum|DeviceScan|_zero_|compute_position"
            r"|prepare_|pack|transpose"
        ),
    ),
)
"""Kernels of ROCm and CUDA, mangled or not, as public traces and sources name them."""

_ATEN_POINTWISE = (
    r"^aten::(add|sub|mul|div|pow|neg|exp|rsqrt|sqrt|sin|cos|mean|sum|cat|stack|clamp|where|to"
    r"|_to_copy|copy|clone|contiguous|zero|fill|index|select|embedding|gather|scatter|gt|lt|ge|le"
    r"|eq|ne|masked_fill|cumsum|arange|relu|sigmoid|tanh)_?$"
)
OPERATORS: Rules = (
    ("comm", r"^c10d::|shm_(all|gather|send|recv)|all_?reduce|all_?gather|reduce_?scatter"),
    ("moe", r"fused_?moe|moe"),
    ("attention", r"scaled_dot_product|attention|attn|kv_cache|chunk_gated_delta"),
    ("sampling", r"^aten::(argmax|multinomial|topk|sort|exponential_|_?log_softmax|_?softmax)$"),
    (
        "gemm",
        (
            r"^aten::(mm|addmm|bmm|baddbmm|linear|matmul|_int_mm|_weight_int8pack_mm)$"
            r"|^(mkldnn|onednn|quantized)::.*linear|onednn_.*mm|scaled_mm|gemm|zentorch.*(linear|mm)"
        ),
    ),
    # what is left in such a region is its fused loops: products and attention are operators
    ("norm_act_elementwise", r"CompiledFxGraph|Torch-Compiled Region|cpp_fused"),
    ("norm_act_elementwise", _ATEN_POINTWISE),
    *KERNELS,
)
"""Operators of a processor's trace; what they do not know is looked up among the kernels."""


@cache
def kernel_category(name: str) -> Category:
    """Return the category of a device's kernel."""
    return _first(KERNELS, name)


@cache
def operator_category(name: str) -> Category:
    """Return the category of an operator on a processor."""
    return _first(OPERATORS, name)


def _first(rules: Rules, name: str) -> Category:
    return next((category for category, pattern in rules if re.search(pattern, name)), "other")
