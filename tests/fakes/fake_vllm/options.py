"""Command line of the fake: options like vLLM's, a help that lists them, and parsed values."""

import argparse
import json
import os
from typing import Any

VERSION = "0.32.0+fake"
MISSING = "FAKE_VLLM_MISSING"
"""Variable with options that this release does not have, separated by commas."""

_FLAGS = {
    "enforce-eager": False,
    "enable-prefix-caching": True,
    "async-scheduling": False,
}
_NUMBERS = {
    "max-num-seqs": 256,
    "max-num-batched-tokens": 2048,
    "max-model-len": 512,
    "optimization-level": 2,
    "block-size": 128,
    "stream-interval": 1,
    "tensor-parallel-size": 1,
    "pipeline-parallel-size": 1,
    "data-parallel-size": 1,
    "long-prefill-token-threshold": 0,
}
_TEXTS = {
    "load-format": "auto",
    "kv-cache-dtype": "auto",
    "quantization": None,
    "performance-mode": "balanced",
    "attention-backend": None,
    "gpu-memory-utilization": "0.9",
    "dtype": "auto",
}
_JSON = ("compilation-config", "profiler-config", "speculative-config")


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``serve``."""
    missing = set(os.environ.get(MISSING, "").split(","))
    made = argparse.ArgumentParser("vllm serve", allow_abbrev=False)
    made.add_argument("model")
    made.add_argument("--host", default="127.0.0.1")
    made.add_argument("--port", type=int, default=8000)
    made.add_argument("--served-model-name", default=None)
    for name, flag in _FLAGS.items():
        if name not in missing:
            made.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=flag)
    for name, number in _NUMBERS.items():
        if name not in missing:
            made.add_argument(f"--{name}", type=int, default=number)
    for name, text in _TEXTS.items():
        if name not in missing:
            made.add_argument(f"--{name}", default=text)
    for name in _JSON:
        if name not in missing:
            made.add_argument(f"--{name}", type=json.loads, default=None)
    return made


def non_default(given: argparse.Namespace) -> dict[str, Any]:
    """Return what differs from the defaults, as vLLM logs it."""
    defaults = vars(parser().parse_args([given.model]))
    found = {"model_tag": given.model, "model": given.model}
    found |= {k: v for k, v in vars(given).items() if k != "model" and v != defaults.get(k)}
    return found


def option(given: argparse.Namespace, name: str, default: Any) -> Any:
    """Return an option's value, or a default where this release lacks it."""
    return getattr(given, name, default)
