"""A command target over the fake server of models."""

import sys
from pathlib import Path
from typing import Any

from arbor.targets.command.target import CommandTarget, CommandTargetConfig

FAKES = Path(__file__).parents[2] / "fakes"

SMALL: dict[str, Any] = {
    "launch": {
        "command": [
            sys.executable,
            str(FAKES / "model_server.py"),
            *("--host", "${host}", "--port", "${port}", "--traces", "${scratch}"),
            *("--threads", "${threads}", "--bits", "${bits}", "--fault", "${fault}"),
            {"when": "turbo", "then": ["--turbo"]},
            {"when": "deaf", "then": ["--deaf"]},
        ],
        # starts on a busy machine are slow
        "limit_s": 60,
    },
    "knobs": {"threads": 1, "bits": 16, "fault": "none", "turbo": False, "deaf": False},
    "report": {
        "path": "/props",
        "values": {"threads": "settings.0.threads", "turbo": "settings.0.turbo"},
    },
    "metrics": "/metrics",
    "benchmark": {
        "kind": "openai",
        "input_tokens": 12,
        "output_tokens": 6,
        "num_requests": 8,
        "concurrency": 4,
        "is_batch_invariant": True,
    },
    "accuracy": {"kind": "logprobs"},
    "profile": {"kind": "http"},
    "actions": [
        {
            "id": "threads",
            "search": {"threads": {"low": 1, "high": 4}},
            "category": "gemm",
            "is_exact": True,
        },
        {
            "id": "turbo",
            "set": {"turbo": True},
            "is_exact": True,
            "counter": "fake_turbo_steps_total",
        },
    ],
}


def small(**options: Any) -> CommandTargetConfig:
    """Return the options of a small target; keys of ``knobs`` are added to its own."""
    merged = SMALL | options
    merged["knobs"] = SMALL["knobs"] | options.get("knobs", {})
    return CommandTargetConfig.model_validate(merged)


def small_target(**options: Any) -> CommandTarget:
    """Return a small target."""
    return CommandTarget(small(**options))
