"""What /state tells: resolved switches, versions, witness counters and statistics."""

import os
import platform
from typing import Any

import torch

from arbor.targets.engine.server.compilations import compilations
from arbor.targets.engine.server.engine import Engine
from arbor.targets.engine.server.overlay import overlaid


def describe_state(engine: Engine) -> dict[str, Any]:
    """A snapshot; read from another thread, so counters may be a step apart."""
    scheduler, prefix = engine.scheduler, engine.prefix_cache
    return {
        "settings": engine.settings.as_dict(),
        "overlay": overlaid(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "process": {
            "pid": os.getpid(),
            "threads": torch.get_num_threads(),
            "affinity": sorted(os.sched_getaffinity(0)),
        },
        "counters": dict(engine.witness.counts),
        "prefix_cache": {
            "hit_tokens": prefix.num_hit_tokens,
            "query_tokens": prefix.num_query_tokens,
            "blocks": len(prefix),
        },
        "compilations": compilations(),
        "peaks": {f"application.{name}": most for name, most in engine.peaks.items()},
        "num_running": len(scheduler.running),
        "peak_num_running": engine.peaks["max_num_seqs"],
        "num_waiting": len(scheduler.waiting),
        "num_preemptions": scheduler.num_preemptions,
        "num_steps": engine.num_steps,
        "num_generated_tokens": engine.num_generated_tokens,
        "num_prefilled_tokens": engine.num_prompt_tokens,
    }
