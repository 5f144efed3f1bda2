"""The surfaces of `make bench-search`: made once, frozen in search_surfaces.json.

    python benchmarks/search_surfaces.py            # writes the file; refuses when it is there

Twenty are random (seeds 7000 to 7019). Ten follow the measured table of the embedded engine: what
each action gained alone, on top of others, and what removing it from the end cost, on a machine
with two cores; every gain is then scaled by a log-normal factor of deviation 0.25. They are one
real target, not ten. Development used random seeds 100 to 119 only (`search.py --development`).
"""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from arbor.events.types import CategoryShare, Layer
from arbor.targets.landscape_config import LandscapeConfig, Noise
from arbor.targets.landscape_optimum import best_config
from arbor.targets.landscape_samples import RandomShape, random_stream, random_surface
from arbor.targets.landscape_surface import Crash, Interaction, Number, Surface, Switch

FILE = Path(__file__).with_name("search_surfaces.json")
RANDOM_SEEDS = range(7000, 7020)
ENGINE_SEEDS = range(7100, 7110)
DEVELOPMENT_SEEDS = range(100, 120)
MAX_KL = 0.004
"""Largest divergence that the gate's default bounds let pass, of top-1 agreement above all."""
SPREAD = 0.25
NOISE = Noise(window_sd=0.015, start_sd=0.004)

SHARES = {"sampler": 0.27, "linear": 0.25, "head": 0.21, "attention": 0.04, "host": 0.23}
"""Baseline shares of the engine; what the table does not name is the host's."""
ACTIONS: Sequence[tuple[str, str, Layer, float]] = (
    ("vectorised_sampler", "sampler", Layer.APPLICATION, 2.8),
    ("batched_decode", "all", Layer.APPLICATION, 0.31),
    ("preallocated_cache", "host", Layer.FRAMEWORK, 0.30),
    ("rope_table", "host", Layer.FRAMEWORK, 0.20),
    ("static_mask", "host", Layer.FRAMEWORK, 0.15),
    ("last_logits", "head", Layer.FRAMEWORK, 0.40),
    ("sdpa", "attention", Layer.FRAMEWORK, 0.60),
    ("padded_attention", "attention", Layer.FRAMEWORK, 0.40),
    ("inference_mode", "host", Layer.FRAMEWORK, 0.20),
    ("packed_prefill", "all", Layer.APPLICATION, 0.03),
    ("prefix_cache", "all", Layer.APPLICATION, 0.08),
    ("fused_qkv", "linear", Layer.KERNEL, 0.06),
    ("fused_gate_up", "linear", Layer.KERNEL, 0.06),
    ("functional_silu", "host", Layer.KERNEL, 0.05),
    ("functional_rms_norm", "host", Layer.KERNEL, 0.10),
    ("cpp_norm", "host", Layer.KERNEL, 0.15),
    ("cpp_swiglu", "host", Layer.KERNEL, 0.10),
    ("cpp_rope_cache_write", "host", Layer.KERNEL, 0.20),
    ("ragged_attention", "attention", Layer.KERNEL, 0.80),
    ("int8_weights", "linear", Layer.COMPILER, 1.2),
    ("int8_head", "head", Layer.COMPILER, 0.9),
    ("bf16_weights", "linear", Layer.COMPILER, 0.6),
    ("compiled_pieces", "all", Layer.COMPILER, -0.03),
    ("freezing", "all", Layer.COMPILER, 0.0),
    ("max_autotune", "all", Layer.COMPILER, -0.09),
    ("length_sort", "all", Layer.DISPATCH, 0.0),
    ("gc_off", "all", Layer.DISPATCH, 0.0),
)
"""Name, category, layer and log speed-up of the category."""
CHANGES: dict[str, dict[str, object]] = {
    "int8_weights": {"unlocked_by": ("batched_decode",), "locked_log_gain": 0.3, "kl": 0.0016},
    "int8_head": {"kl": 0.0008},
    "bf16_weights": {
        "unlocked_by": ("batched_decode",),
        "locked_log_gain": 0.0,
        "excludes": ("int8_weights",),
        "kl": 0.0004,
    },
    "cpp_rope_cache_write": {"needs": ("preallocated_cache",)},
    "ragged_attention": {"needs": ("preallocated_cache",)},
}
INTERACTIONS = (
    Interaction(first="batched_decode", second="vectorised_sampler", log_gain=0.17),
    Interaction(first="ragged_attention", second="sdpa", log_gain=-0.6, category="attention"),
    Interaction(
        first="ragged_attention", second="padded_attention", log_gain=-0.4, category="attention"
    ),
    Interaction(first="cpp_rope_cache_write", second="rope_table", log_gain=-0.2, category="host"),
    Interaction(first="ragged_attention", second="static_mask", log_gain=-0.15, category="host"),
)


def random_config(seed: int) -> LandscapeConfig:
    """Return a random landscape of 16 to 24 switches."""
    shape = RandomShape(seed=seed, num_switches=16 + seed % 9, num_cliffs=seed % 2)
    return LandscapeConfig(surface=random_surface(shape), noise=NOISE, seed=seed)


def engine_config(seed: int) -> LandscapeConfig:
    """Return a landscape after the engine's table, its gains scaled by chance."""
    stream = random_stream("engine table", seed)
    switches = [
        Switch(
            name=name,
            key=f"{layer}.{name}",
            layer=layer,
            category=category,
            log_gain=log_gain * math.exp(stream.gauss(0.0, SPREAD)),
        ).model_copy(update=CHANGES.get(name, {}))
        for name, category, layer, log_gain in ACTIONS
    ]
    max_active = Number(
        name="max_active",
        key="application.max_active",
        low=1,
        high=64,
        baseline=4,
        optimum=24,
        curvature=0.139 * math.exp(stream.gauss(0.0, SPREAD)),
        unlocked_by=("batched_decode",),
    )
    surface = Surface(
        categories=tuple(
            CategoryShare(category=name, share_ratio=share) for name, share in SHARES.items()
        ),
        switches=tuple(switches),
        numbers=(max_active,),
        interactions=INTERACTIONS,
        crashes=(
            Crash(
                all_of=("bf16_weights", "cpp_norm"),
                message="cpp_norm takes float32 only",
                log=("RuntimeError: expected scalar type Float",),
            ),
        ),
    )
    return LandscapeConfig(surface=surface, noise=NOISE, seed=seed)


def best_ratio(config: LandscapeConfig) -> float:
    """Return the throughput of the best stack that is known over the baseline's."""
    return config.true_ratio(best_config(config.resolved_surface(), MAX_KL))


def frozen() -> list[dict[str, object]]:
    """Return what the file holds."""
    named = [(f"random-{seed}", random_config(seed)) for seed in RANDOM_SEEDS]
    named += [(f"engine-{seed}", engine_config(seed)) for seed in ENGINE_SEEDS]
    return [
        {
            "name": name,
            "best_ratio": best_ratio(config),
            "landscape": config.model_dump(mode="json", exclude_defaults=True),
        }
        for name, config in named
    ]


if __name__ == "__main__":
    if FILE.exists():
        sys.exit(f"{FILE} is frozen; delete it to make other surfaces, and say so")
    FILE.write_text(json.dumps(frozen(), indent=1) + "\n")
