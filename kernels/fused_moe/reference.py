"""A mixture of experts in PyTorch, the oracle that kernels are held against."""

import torch

from arbor.kernels.base import wide


def fused_moe(
    x: torch.Tensor,
    logits: torch.Tensor,
    gate_up: torch.Tensor,
    down: torch.Tensor,
    top_k: int,
) -> torch.Tensor:
    """Return the weighted sum of each token's ``top_k`` experts.

    Weights are the softmax of the logits over the chosen experts. Of equal logits the lower
    expert is chosen.

    Args:
        x: (num_tokens, hidden); float64 gives the oracle.
        logits: (num_tokens, num_experts).
        gate_up: (num_experts, 2 * width, hidden), the gate first.
        down: (num_experts, hidden, width).
        top_k: experts of each token.

    Returns:
        (num_tokens, hidden) in the dtype of ``x``.
    """
    kind = wide(x)
    order = torch.sort(logits.to(kind), dim=-1, descending=True, stable=True)
    weights = torch.softmax(order.values[:, :top_k], dim=-1)
    chosen = order.indices[:, :top_k]
    out = torch.zeros(x.shape, dtype=kind, device=x.device)
    for expert in range(gate_up.shape[0]):
        token, slot = (chosen == expert).nonzero(as_tuple=True)
        if token.numel():
            gate, up = (x[token].to(kind) @ gate_up[expert].to(kind).T).chunk(2, dim=-1)
            hidden = (gate * torch.sigmoid(gate) * up) @ down[expert].to(kind).T
            out.index_add_(0, token, hidden * weights[token, slot, None])
    return out.to(x.dtype)
