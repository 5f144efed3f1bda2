"""Random layers between the ends of a bigram model: they cost what a model's layers cost.

They add ``DEPTH_SHARE`` of the residual's length, all together, in directions that the head
reads: an error in a layer's arithmetic or in the KV cache shows in the log-probs, while the
bigram model stays the better part of what is predicted.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from benchmarks.models.shapes import Shape

DEPTH_SHARE = 0.25
SHARPNESS = 1.5
"""Deviation of queries and keys; scores of attention then deviate by its square."""
_GATED_SD = 0.6
"""Deviation of silu(a) b for standard normal a and b."""


def layer_tensors(
    shape: Shape, layer: int, reserved: Tensor, generator: torch.Generator
) -> Iterator[tuple[str, Tensor]]:
    """Yield names and tensors of a layer.

    Args:
        shape: of the model.
        layer: its number.
        reserved: [hidden, num], orthonormal: directions that layers must leave alone.
        generator: source of the numbers, on the device where they are made.
    """
    prefix = f"model.layers.{layer}"
    share = DEPTH_SHARE / (2 * shape.num_layers) ** 0.5
    is_normed = shape.architecture == "qwen3"
    deviations = {
        # a norm of its own sets the length of queries and keys
        "self_attn.q_proj": 1.0 if is_normed else SHARPNESS,
        "self_attn.k_proj": 1.0 if is_normed else SHARPNESS,
        "self_attn.o_proj": share,
        "mlp.down_proj": share / _GATED_SD,
    }
    device = reserved.device
    for name, rows, columns in shape.matrices():
        weight = torch.randn(rows, columns, generator=generator, device=device)
        weight *= deviations.get(name, 1.0) / columns**0.5
        if rows == shape.hidden and name in {"self_attn.o_proj", "mlp.down_proj"}:
            weight -= reserved @ (reserved.T @ weight)
        yield f"{prefix}.{name}.weight", weight
    for name in ("input_layernorm", "post_attention_layernorm"):
        yield f"{prefix}.{name}.weight", torch.ones(shape.hidden, device=device)
    if is_normed:
        for name in ("q_norm", "k_norm"):
            norm = torch.full((shape.head_dim,), SHARPNESS, device=device)
            yield f"{prefix}.self_attn.{name}.weight", norm
