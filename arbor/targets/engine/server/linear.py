"""Matrix products with fixed weights: float32, bfloat16 or int8, plain or packed by oneDNN."""

import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812  the name of PyTorch's own documentation
from torch import Tensor

from arbor.targets.engine.server.witness import Witness

Linear = Callable[[Tensor], Tensor]

# oneDNN picks the packed layout for about this many rows: a decode step of a full batch.
_PACKED_FOR_ROWS = 16


class PlainLinear:
    """The library's product on an unpacked weight [out, in]."""

    def __init__(self, weight: Tensor, dtype: torch.dtype, witness: Witness) -> None:
        self._weight = weight.to(dtype)
        self._dtype = dtype
        self._name = f"linear.{str(dtype).removeprefix('torch.')}"
        self._witness = witness

    def __call__(self, rows: Tensor) -> Tensor:
        """[rows, in] -> [rows, out]."""
        self._witness.count(self._name)
        return F.linear(rows.to(self._dtype), self._weight)


class PackedLinear:
    """oneDNN's product on a weight that was reordered once for it."""

    def __init__(self, weight: Tensor, dtype: torch.dtype, witness: Witness) -> None:
        self._weight = torch.ops.mkldnn._reorder_linear_weight(
            weight.to(dtype).contiguous(), _PACKED_FOR_ROWS
        )
        self._dtype = dtype
        self._name = f"linear.{str(dtype).removeprefix('torch.')}_packed"
        self._witness = witness

    def __call__(self, rows: Tensor) -> Tensor:
        """[rows, in] -> [rows, out]."""
        self._witness.count(self._name)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            rows.to(self._dtype), self._weight, None, "none", [], ""
        )
        return product


class Int8Linear:
    """Weights in int8 with a scale per output row; activations quantised as they come.

    The activations share one scale per call, so a row's result depends on its batch.
    """

    def __init__(self, weight: Tensor, witness: Witness) -> None:
        scales = weight.abs().amax(dim=1).clamp_min(1e-12) / 127.0
        with warnings.catch_warnings():
            # Announced to go away after torch 2.13; pyproject.toml admits no later one.
            warnings.filterwarnings("ignore", message="torch.quantize_per_tensor")
            quantised = torch.quantize_per_channel(
                weight, scales, torch.zeros(len(scales), dtype=torch.long), 0, torch.qint8
            )
        self._packed = torch.ops.quantized.linear_prepack(quantised, None)
        self._witness = witness

    def __call__(self, rows: Tensor) -> Tensor:
        """[rows, in] -> [rows, out], float32."""
        self._witness.count("linear.int8")
        product: Tensor = torch.ops.quantized.linear_dynamic(rows.float(), self._packed, False)
        return product


def make_linear(weight: Tensor, number_format: str, backend: str, witness: Witness) -> Linear:
    """Build the product for a weight [out, in] in the number format and backend of serve.yaml."""
    if number_format == "int8":
        return Int8Linear(weight, witness)
    dtype = torch.bfloat16 if number_format == "bfloat16" else torch.float32
    if backend == "onednn_packed":
        return PackedLinear(weight, dtype, witness)
    return PlainLinear(weight, dtype, witness)
