"""The C++ operators on tensors: float32, one thread, and only on the preallocated cache."""

import torch
from torch import Tensor

from arbor.targets.engine.server.architecture import Architecture
from arbor.targets.engine.server.batch import Batch
from arbor.targets.engine.server.errors import UnsupportedCombinationError
from arbor.targets.engine.server.kv_cache import KVCache, PreallocatedCache
from arbor.targets.engine.server.native.build import declare, load_library
from arbor.targets.engine.server.rotary import cosine_and_sine, inverse_frequencies
from arbor.targets.engine.server.witness import Witness

# In the order of operators.cpp.
_SIGNATURES = {
    "rms_norm": "pppnnf",
    "add_rms_norm": "ppppnnf",
    "swiglu": "pnpnpnn",
    "rope_and_write": "pnpnpnppppppnnnnn",
    "decode_attention": "pnppppppnnnnnf",
}


def _address(tensor: Tensor, operator: str) -> int:
    """Address of a float32 tensor whose last dimension is dense.

    Raises:
        UnsupportedCombinationError: The tensor has another dtype.
    """
    if tensor.dtype is not torch.float32:
        raise UnsupportedCombinationError(
            f"native {operator} takes float32 rows, not {str(tensor.dtype).removeprefix('torch.')}"
        )
    return tensor.data_ptr()


class NativeOperators:
    """RMSNorm, SwiGLU, RoPE with the KV write, and attention of decode steps."""

    def __init__(self, architecture: Architecture, cache: KVCache, witness: Witness) -> None:
        self._library = declare(load_library("operators"), _SIGNATURES)
        self._architecture = architecture
        self._cache = cache
        self._witness = witness
        positions = torch.arange(architecture.max_positions)
        cosine, sine = cosine_and_sine(positions, inverse_frequencies(architecture))
        self._cosine, self._sine = cosine.contiguous(), sine.contiguous()
        group = architecture.num_heads // architecture.num_kv_heads
        self._scores = torch.empty(group * architecture.max_positions)

    def normalise(self, rows: Tensor, weight: Tensor) -> Tensor:
        """RMSNorm of [rows, width]."""
        self._witness.count("norm.cpp")
        out = torch.empty_like(rows)
        self._library.rms_norm(
            _address(rows, "rms_norm"),
            weight.data_ptr(),
            out.data_ptr(),
            rows.shape[0],
            rows.shape[1],
            self._architecture.norm_epsilon,
        )
        return out

    def add_and_normalise(
        self, rows: Tensor, delta: Tensor, weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Add delta to [rows, width] in place; gives the sum and its RMSNorm."""
        self._witness.count("norm.cpp")
        out = torch.empty_like(rows)
        self._library.add_rms_norm(
            _address(rows, "add_rms_norm"),
            _address(delta, "add_rms_norm"),
            weight.data_ptr(),
            out.data_ptr(),
            rows.shape[0],
            rows.shape[1],
            self._architecture.norm_epsilon,
        )
        return rows, out

    def activate(self, gate: Tensor, up: Tensor) -> Tensor:
        """SiLU(gate) * up, both [rows, width], possibly halves of wider rows."""
        self._witness.count("activation.cpp")
        out = torch.empty(gate.shape)
        self._library.swiglu(
            _address(gate, "swiglu"),
            gate.stride(0),
            _address(up, "swiglu"),
            up.stride(0),
            out.data_ptr(),
            gate.shape[0],
            gate.shape[1],
        )
        return out

    def rotate_and_write(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, batch: Batch
    ) -> Tensor:
        """Rotate query [rows, heads, dim] in place, write key and value [rows, kv heads, dim].

        Raises:
            UnsupportedCombinationError: The cache is not preallocated or not float32.
        """
        cache = self._cache
        if not isinstance(cache, PreallocatedCache):
            raise UnsupportedCombinationError(
                "native rope_and_write writes into the preallocated KV cache only"
            )
        self._witness.count("rope_and_write.cpp")
        shape = self._architecture
        self._library.rope_and_write(
            _address(query, "rope_and_write"),
            query.stride(0),
            _address(key, "rope_and_write"),
            key.stride(0),
            _address(value, "rope_and_write"),
            value.stride(0),
            self._cosine.data_ptr(),
            self._sine.data_ptr(),
            batch.positions.data_ptr(),
            batch.row_slots.data_ptr(),
            _address(cache.keys[layer], "rope_and_write"),
            _address(cache.values[layer], "rope_and_write"),
            query.shape[0],
            shape.num_heads,
            shape.num_kv_heads,
            shape.head_dim,
            shape.max_positions,
        )
        return query

    def attend(self, layer: int, query: Tensor, batch: Batch) -> Tensor:
        """Decode attention of [rows, heads, dim]; gives [rows, heads * dim]."""
        cache = self._cache
        if not isinstance(cache, PreallocatedCache):
            raise UnsupportedCombinationError("native attention reads the preallocated KV cache")
        self._witness.count("attention.cpp")
        shape = self._architecture
        out = torch.empty(query.shape[0], shape.num_heads * shape.head_dim)
        self._library.decode_attention(
            _address(query, "decode_attention"),
            query.stride(0),
            cache.keys[layer].data_ptr(),
            cache.values[layer].data_ptr(),
            batch.positions.data_ptr(),
            batch.row_slots.data_ptr(),
            self._scores.data_ptr(),
            out.data_ptr(),
            query.shape[0],
            shape.num_heads,
            shape.num_kv_heads,
            shape.head_dim,
            shape.max_positions,
            shape.head_dim**-0.5,
        )
        return out
