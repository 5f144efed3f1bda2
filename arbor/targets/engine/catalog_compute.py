"""The engine's actions on the compiler, the kernels and the number formats."""

from arbor.events.types import ActionTemplate, Layer
from arbor.targets.engine.action_parts import counter, requires, set_key


def compiler_actions() -> list[ActionTemplate]:
    """Return the actions of torch.compile and of product precision."""
    return [
        ActionTemplate(
            template_id="compile_pieces",
            layer=Layer.COMPILER,
            category="norm_activation",
            title="Compile the elementwise parts",
            edits=set_key("compiler.compile", "pieces"),
            requires=requires("kernel.operators", "torch"),
            prior_speedup_ratio=1.6,
            prior_crash_risk_ratio=0.1,
            cost_s=60.0,
            witness=counter("activation.torch_compiled"),
        ),
        ActionTemplate(
            template_id="compile_whole",
            layer=Layer.COMPILER,
            category="all",
            title="Compile the whole forward pass",
            edits=set_key("compiler.compile", "whole"),
            requires=requires("kernel.operators", "torch"),
            prior_speedup_ratio=1.4,
            prior_crash_risk_ratio=0.3,
            cost_s=180.0,
            witness=counter("forward.compiled_whole"),
        ),
        ActionTemplate(
            template_id="matmul_precision",
            layer=Layer.COMPILER,
            category="linear",
            title="Allow reduced precision inside float32 products",
            edits=set_key("compiler.matmul_precision", "medium"),
            prior_speedup_ratio=1.15,
            prior_accuracy_risk_ratio=0.1,
            is_exact=False,
        ),
    ]


def kernel_actions() -> list[ActionTemplate]:
    """Return the actions of kernels and number formats."""
    return [
        ActionTemplate(
            template_id="cpp_operators",
            layer=Layer.KERNEL,
            category="all",
            title="Norm, activation, rotary write and decode attention in C++",
            edits=set_key("kernel.operators", "cpp"),
            requires=requires("framework.kv_cache", "preallocated"),
            unlocked_by=("preallocated_cache", "batched_decode"),
            prior_speedup_ratio=1.2,
            prior_crash_risk_ratio=0.1,
            cost_s=30.0,
            witness=counter("norm.cpp"),
        ),
        ActionTemplate(
            template_id="fused_norm",
            layer=Layer.KERNEL,
            category="norm_activation",
            title="Use the library's fused norm",
            edits=set_key("kernel.norm", "fused"),
            requires=(
                *requires("kernel.operators", "torch"),
                *requires("compiler.compile", "none"),
            ),
            prior_speedup_ratio=1.4,
            witness=counter("norm.fused"),
        ),
        ActionTemplate(
            template_id="fused_projections",
            layer=Layer.KERNEL,
            category="linear",
            title="Join the query, key and value and the gate and up products",
            edits=set_key("kernel.fused_projections", True),
            prior_speedup_ratio=1.15,
            witness=counter("projections.fused"),
        ),
        ActionTemplate(
            template_id="packed_weights",
            layer=Layer.KERNEL,
            category="all",
            title="Pack float32 weights for oneDNN",
            edits=set_key("kernel.linear", "onednn_packed"),
            requires=requires("kernel.weights", "float32"),
            prior_speedup_ratio=1.08,
            prior_crash_risk_ratio=0.05,
            witness=counter("linear.float32_packed"),
        ),
        ActionTemplate(
            template_id="bfloat16_weights",
            layer=Layer.KERNEL,
            category="linear",
            title="Keep weights in bfloat16",
            edits=set_key("kernel.weights", "bfloat16"),
            requires=requires("kernel.linear", "default"),
            unlocked_by=("batched_decode",),
            prior_speedup_ratio=1.4,
            prior_accuracy_risk_ratio=0.15,
            prior_crash_risk_ratio=0.1,
            is_exact=False,
            witness=counter("linear.bfloat16"),
        ),
        ActionTemplate(
            template_id="packed_bfloat16_weights",
            layer=Layer.KERNEL,
            category="linear",
            title="Keep weights in bfloat16, packed for oneDNN",
            edits=(
                *set_key("kernel.weights", "bfloat16"),
                *set_key("kernel.linear", "onednn_packed"),
            ),
            unlocked_by=("batched_decode",),
            prior_speedup_ratio=1.5,
            prior_accuracy_risk_ratio=0.15,
            prior_crash_risk_ratio=0.1,
            is_exact=False,
            witness=counter("linear.bfloat16_packed"),
        ),
        ActionTemplate(
            template_id="int8_weights",
            layer=Layer.KERNEL,
            category="linear",
            title="Quantise the layers' weights and activations to int8",
            edits=set_key("kernel.weights", "int8"),
            unlocked_by=("batched_decode",),
            prior_speedup_ratio=1.8,
            prior_accuracy_risk_ratio=0.25,
            is_exact=False,
            witness=counter("linear.int8"),
        ),
        ActionTemplate(
            template_id="int8_head",
            layer=Layer.KERNEL,
            category="head",
            title="Quantise the head to int8",
            edits=set_key("kernel.head_weights", "int8"),
            prior_speedup_ratio=1.8,
            prior_accuracy_risk_ratio=0.2,
            is_exact=False,
            witness=counter("head.int8"),
        ),
    ]
