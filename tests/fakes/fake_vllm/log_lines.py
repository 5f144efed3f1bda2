"""What the fake prints, in the words of vLLM 0.32."""

import os
import sys
from argparse import Namespace

from tests.fakes.fake_vllm.options import VERSION, non_default, option


def say(line: str, who: str = "APIServer", level: str = "INFO") -> None:
    """Print a line as vLLM's loggers do."""
    sys.stderr.write(f"({who} pid={os.getpid()}) {level} 11-30 09:42:07 [fake.py:1] {line}\n")
    sys.stderr.flush()


def say_arguments(given: Namespace) -> None:
    """Print the options that differ from their defaults, and what follows from them."""
    say(f"non-default args: {non_default(given)!r}")
    say("Resolved architecture: LlamaForCausalLM")
    say(f"Using max model len {option(given, 'max_model_len', 512)}")
    batched = option(given, "max_num_batched_tokens", 2048)
    say(f"Chunked prefill is enabled with max_num_batched_tokens={batched}.")
    # a processor forces it off without a word
    for name in os.environ:
        if name.startswith("VLLM_FAKE_"):
            say(f"Unknown vLLM environment variable detected: {name}", level="WARNING")


def say_engine(given: Namespace) -> None:
    """Print the engine's resolved configuration, and how it started."""
    eager = option(given, "enforce_eager", False)
    config = (
        f"model={given.model!r}, speculative_config=None, dtype=torch.bfloat16, "
        f"max_seq_len={option(given, 'max_model_len', 512)}, "
        f"load_format={option(given, 'load_format', 'auto')}, "
        f"tensor_parallel_size={option(given, 'tensor_parallel_size', 1)}, "
        f"quantization={option(given, 'quantization', None)}, enforce_eager={eager}, "
        f"kv_cache_dtype={option(given, 'kv_cache_dtype', 'auto')}, device_config=cpu, "
        "structured_outputs_config=StructuredOutputsConfig(backend='auto', enable=False), "
        f"enable_prefix_caching={option(given, 'enable_prefix_caching', True)}, "
        "compilation_config={'mode': <CompilationMode.DYNAMO_TRACE_ONCE: 2>, "
        "'backend': 'inductor', 'compile_sizes': None, 'cudagraph_mode': <CUDAGraphMode.NONE: 0>, "
        "'pass_config': {'fuse_norm_quant': False}}"
    )
    number = VERSION.partition("+")[0]
    say(f"Initializing a V1 LLM engine (v{number}) with config: {config}", "EngineCore")
    if not eager:
        say("[backbone] saved AOT compiled function to /cache/rank_0_0/model", "Worker")
    say("CPU KV cache size: 131,072 tokens, Maximum concurrency for 512 tokens per request: "
        "256.00x", "EngineCore")  # fmt: skip


def say_traceback(last: str) -> None:
    """Print a traceback as a worker that fails does."""
    say("EngineCore failed to start.", "EngineCore", "ERROR")
    say("Traceback (most recent call last):", "EngineCore", "ERROR")
    sys.stderr.write(f"{last}\n")
    sys.stderr.flush()
