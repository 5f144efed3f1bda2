"""Shapes of the models that are made here, and their configuration as transformers reads it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Shape:
    """A decoder's shape.

    Attributes:
        architecture: layout and names of the tensors.
        vocab_size: rows of embedding and head.
        known_tokens: tokens of the tokenizer; the other rows are there for their cost.
        rank: of the bigram model's product.
    """

    name: str
    architecture: Literal["llama", "qwen3"]
    hidden: int
    intermediate: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    known_tokens: int
    rank: int
    max_tokens: int

    def config(self) -> dict[str, Any]:
        """Return the content of config.json."""
        names = {
            "llama": ("LlamaForCausalLM", 10_000.0),
            "qwen3": ("Qwen3ForCausalLM", 1_000_000.0),
        }
        class_name, rope_theta = names[self.architecture]
        return {
            "architectures": [class_name],
            "model_type": self.architecture,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden,
            "intermediate_size": self.intermediate,
            "num_hidden_layers": self.num_layers,
            "num_attention_heads": self.num_heads,
            "num_key_value_heads": self.num_kv_heads,
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "max_position_embeddings": self.max_tokens,
            "rms_norm_eps": 1e-6,
            "rope_theta": rope_theta,
            "attention_bias": False,
            "tie_word_embeddings": False,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "torch_dtype": "bfloat16",
        }

    def matrices(self) -> Iterator[tuple[str, int, int]]:
        """Yield name within a layer, rows and columns of every matrix of a layer."""
        heads = self.num_heads * self.head_dim
        kv_heads = self.num_kv_heads * self.head_dim
        yield "self_attn.q_proj", heads, self.hidden
        yield "self_attn.k_proj", kv_heads, self.hidden
        yield "self_attn.v_proj", kv_heads, self.hidden
        yield "self_attn.o_proj", self.hidden, heads
        yield "mlp.gate_proj", self.intermediate, self.hidden
        yield "mlp.up_proj", self.intermediate, self.hidden
        yield "mlp.down_proj", self.hidden, self.intermediate

    def num_parameters(self) -> int:
        """Return the number of weights in matrices."""
        layer = sum(rows * columns for _, rows, columns in self.matrices())
        return self.num_layers * layer + 2 * self.vocab_size * self.hidden


SHAPES = {
    shape.name: shape
    for shape in (
        Shape(
            name="llama-35m",
            architecture="llama",
            hidden=512,
            intermediate=1280,
            num_layers=8,
            num_heads=8,
            num_kv_heads=4,
            head_dim=64,
            # `vllm bench latency` draws tokens below 10,000
            vocab_size=10_240,
            known_tokens=10_240,
            rank=510,
            max_tokens=2048,
        ),
        Shape(
            name="qwen3-8b",
            architecture="qwen3",
            hidden=4096,
            intermediate=12_288,
            num_layers=36,
            num_heads=32,
            num_kv_heads=8,
            head_dim=128,
            vocab_size=151_936,
            known_tokens=16_384,
            rank=1022,
            max_tokens=40_960,
        ),
        Shape(
            name="qwen3-tiny",
            architecture="qwen3",
            hidden=64,
            intermediate=96,
            num_layers=2,
            num_heads=4,
            num_kv_heads=2,
            head_dim=16,
            vocab_size=640,
            known_tokens=512,
            rank=32,
            max_tokens=256,
        ),
    )
}
