"""Paged decode attention as an operator of the harness."""

from typing import ClassVar

import torch

from arbor.kernels.architectures import Architecture, KernelInputError
from arbor.kernels.base import (
    Operator,
    Shape,
    Space,
    Tensors,
    Work,
    dtype_bytes,
    require_contiguous,
    torch_dtype,
)
from arbor.kernels.drawing import Draw
from arbor.kernels.launching import Config, ceil_div
from arbor.kernels.paged_decode import reference
from arbor.kernels.paged_decode import space as paged_decode_space
from arbor.kernels.paged_decode.kernel import paged_decode


def _shape(num_seqs: int, heads: int, kv_heads: int, head_size: int, length: int) -> Shape:
    return {
        "num_seqs": num_seqs,
        "num_heads": heads,
        "num_kv_heads": kv_heads,
        "head_size": head_size,
        "block_size": 16,
        "length": length,
    }


def _lengths(shape: Shape) -> list[int]:
    """Return the lengths of all sequences, from the longest to the shortest."""
    longest, num_seqs = shape["length"], shape["num_seqs"]
    return [longest - longest // 2 * place // max(num_seqs - 1, 1) for place in range(num_seqs)]


class PagedDecode(Operator):
    """Inputs query, key cache, value cache, block table, lengths; output like the query.

    ``length`` of a shape is the longest sequence; lengths are spread evenly between half of it and
    all, in random order.
    """

    name = "paged_decode"
    dimensions = ("num_seqs", "num_heads", "num_kv_heads", "head_size", "block_size", "length")
    dtypes = ("bf16", "fp16", "fp32")
    space: ClassVar[Space] = paged_decode_space
    has_products = True
    odd_shapes = (
        _shape(1, 1, 1, 16, 1),
        _shape(3, 6, 2, 63, 100),
        _shape(2, 8, 8, 100, 63),
        _shape(2, 5, 1, 64, 1000),
    )
    shipped_shapes = (
        _shape(1, 32, 8, 128, 4096),
        _shape(64, 32, 8, 128, 1024),
        _shape(64, 32, 8, 128, 8192),
        _shape(256, 64, 8, 128, 2048),
    )

    def check_shape(self, shape: Shape, dtype: str) -> None:
        """Check sizes and dtype.

        Raises:
            KernelInputError: as for all operators, or query heads cannot share key-value heads.
        """
        super().check_shape(shape, dtype)
        if shape["num_heads"] % shape["num_kv_heads"]:
            raise KernelInputError(
                f"{self.name}: num_heads={shape['num_heads']} is no multiple of "
                f"num_kv_heads={shape['num_kv_heads']}"
            )

    def inputs(
        self, shape: Shape, dtype: str, draw: Draw, architecture: Architecture
    ) -> tuple[torch.Tensor, ...]:
        """Return a query and a cache whose blocks lie in random order."""
        kind = torch_dtype(dtype, architecture)
        num_seqs, heads, kv_heads, head_size, page, length = (
            shape[name] for name in self.dimensions
        )
        max_blocks = ceil_div(length, page)
        cache = (num_seqs * max_blocks, page, kv_heads, head_size)
        order = draw.permutation(num_seqs).long()
        lengths = torch.tensor(_lengths(shape), dtype=torch.int32, device=draw.device)[order]
        return (
            draw.numbers(num_seqs, heads, head_size, dtype=kind),
            draw.numbers(*cache, dtype=kind),
            draw.numbers(*cache, dtype=kind),
            draw.permutation(num_seqs * max_blocks).view(num_seqs, max_blocks),
            lengths,
        )

    def outputs(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return a buffer like the query."""
        return (torch.empty_like(inputs[0]),)

    def reference(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the attention by PyTorch."""
        return (reference.paged_decode(*inputs),)

    def library(self, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the attention by gathering the cache for PyTorch's own attention."""
        query, key_cache, value_cache, block_table, lengths = inputs
        num_seqs, num_heads, head_size = query.shape
        table = block_table.long()
        key, value = (
            cache[table].flatten(1, 2).transpose(1, 2) for cache in (key_cache, value_cache)
        )
        place = torch.arange(key.shape[2], device=query.device)
        mask = (place[None, :] < lengths[:, None])[:, None, None, :]
        attended = torch.nn.functional.scaled_dot_product_attention(
            query[:, :, None], key, value, attn_mask=mask, enable_gqa=True
        )
        return (attended.reshape(num_seqs, num_heads, head_size),)

    def run(self, inputs: Tensors, outputs: Tensors, config: Config) -> None:
        """Fill the attention by the kernel."""
        require_contiguous(self.name, (*inputs, *outputs))
        query, key_cache, value_cache, block_table, lengths = inputs
        paged_decode(query, (key_cache, value_cache), block_table, lengths, outputs[0], config)

    def work(self, shape: Shape, dtype: str) -> Work:
        """Return keys and values of all sequences read once, and both products."""
        num_seqs, heads, kv_heads, head_size = (shape[name] for name in self.dimensions[:4])
        tokens = sum(_lengths(shape))
        elements = 2 * tokens * kv_heads * head_size + 2 * num_seqs * heads * head_size
        return Work(elements * dtype_bytes(dtype), 4 * tokens * heads * head_size, dtype)

    def tolerance(self, dtype: torch.dtype, num_terms: int = 1) -> float:
        """Return the bound for two roundings: weights are rounded to the dtype of the values."""
        return 2 * super().tolerance(dtype, num_terms)

    def num_terms(self, inputs: Tensors) -> int:
        """Return the longest length."""
        return inputs[3].shape[1] * inputs[1].shape[1]
