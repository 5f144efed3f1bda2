"""Surfaces to search on: a small one that resembles an engine, and random ones for studies."""

import math
import random

from pydantic import Field

from arbor.events.types import CategoryShare, Layer, Value
from arbor.targets.landscape_surface import (
    EVERY_CATEGORY,
    Cliff,
    Crash,
    Interaction,
    Number,
    Surface,
    Switch,
)


class RandomShape(Value):
    """What a random surface looks like; equal shapes give equal surfaces."""

    seed: int
    num_switches: int = Field(ge=4)
    num_categories: int = Field(default=5, ge=2, le=20)
    num_numbers: int = Field(default=2, ge=0)
    useless_ratio: float = Field(default=0.33, ge=0, le=0.9)
    harmful_ratio: float = Field(default=0.12, ge=0, le=0.5)
    interaction_ratio: float = Field(default=0.25, ge=0)
    """Interactions per switch."""
    unlock_ratio: float = Field(default=0.2, ge=0, le=0.5)
    """Share of the useful switches that gain only after another one."""
    lossy_ratio: float = Field(default=0.1, ge=0, le=0.5)
    """Share of the switches that cost accuracy; every third of them too much."""
    num_crashes: int = Field(default=2, ge=0)
    num_cliffs: int = Field(default=0, ge=0)
    """Pairs of exact switches that spoil accuracy together."""
    mean_log_gain: float = Field(default=0.25, gt=0)


def random_surface(shape: RandomShape) -> Surface:
    """Return the surface of a shape."""
    stream = random_stream("surface", shape.seed, shape.num_switches)
    weights = [stream.expovariate(1.0) + 0.1 for _ in range(shape.num_categories)]
    names = [f"category_{i}" for i in range(shape.num_categories)]
    shares = [weight / math.fsum(weights) for weight in weights]
    switches = [_random_switch(i, names, shape, stream) for i in range(shape.num_switches)]
    useful = [i for i, switch in enumerate(switches) if switch.log_gain > 0]
    for i in useful:
        if len(useful) > 1 and stream.random() < shape.unlock_ratio:
            # only earlier ones unlock, so that no circle of locks can form
            openers = [switches[j].name for j in useful if j < i]
            if openers:
                changes = {
                    "unlocked_by": (stream.choice(openers),),
                    "log_gain": switches[i].log_gain * 1.8,
                    "locked_log_gain": stream.uniform(-0.03, 0.03),
                }
                switches[i] = switches[i].model_copy(update=changes)
    return Surface(
        categories=tuple(
            CategoryShare(category=name, share_ratio=share)
            for name, share in zip(names, shares, strict=True)
        ),
        switches=tuple(switches),
        numbers=tuple(_random_number(i, stream) for i in range(shape.num_numbers)),
        interactions=tuple(_random_interactions(switches, names, shape, stream)),
        crashes=tuple(_random_crashes(switches, shape, stream)),
        # drawn last, so that shapes without cliffs are what they were before there were any
        cliffs=tuple(_random_cliffs(switches, shape, stream)),
    )


def random_stream(*parts: object) -> random.Random:
    """Return a stream of random numbers that is a function of its arguments only."""
    return random.Random(repr(parts))  # noqa: S311 - noise, not a secret


def _random_switch(
    i: int, categories: list[str], shape: RandomShape, stream: random.Random
) -> Switch:
    draw = stream.random()
    if draw < shape.useless_ratio:
        log_gain = 0.0 if stream.random() < 0.5 else stream.uniform(-0.01, 0.01)
    elif draw < shape.useless_ratio + shape.harmful_ratio:
        log_gain = -stream.uniform(0.03, 0.25)
    else:
        log_gain = min(stream.expovariate(1.0 / shape.mean_log_gain) + 0.03, 1.2)
    lossy = stream.random() < shape.lossy_ratio
    everywhere = stream.random() < 0.15
    return Switch(
        name=f"switch_{i:03d}",
        key=f"layer_{i % 5}.switch_{i:03d}",
        layer=list(Layer)[i % len(Layer)],
        category=EVERY_CATEGORY if everywhere else stream.choice(categories),
        title=f"Turn on switch {i}",
        log_gain=log_gain,
        kl=0.0 if not lossy else stream.choice((0.001, 0.003, 0.05)),
        is_dead=log_gain == 0.0 and stream.random() < 0.3,
        cost_s=round(10.0 * math.exp(stream.uniform(0.0, 1.5)), 1),
    )


def _random_number(i: int, stream: random.Random) -> Number:
    optimum = 2.0 ** stream.uniform(2.0, 6.0)
    return Number(
        name=f"number_{i}",
        key=f"numbers.number_{i}",
        low=1,
        high=128,
        baseline=4,
        optimum=optimum,
        curvature=stream.uniform(0.02, 0.1),
        title=f"Tune number {i}",
    )


def _random_interactions(
    switches: list[Switch], categories: list[str], shape: RandomShape, stream: random.Random
) -> list[Interaction]:
    pairs: dict[tuple[str, str], Interaction] = {}
    for _ in range(round(shape.interaction_ratio * shape.num_switches)):
        first, second = stream.sample(switches, 2)
        category = first.category if first.category in categories else EVERY_CATEGORY
        # redundancy is more frequent than synergy: two switches remove the same waste
        overlap = -0.7 * max(min(first.log_gain, second.log_gain), 0.0)
        log_gain = overlap if stream.random() < 0.65 else stream.uniform(0.02, 0.2)
        pairs[first.name, second.name] = Interaction(
            first=first.name, second=second.name, log_gain=log_gain, category=category
        )
    return list(pairs.values())


def _random_crashes(
    switches: list[Switch], shape: RandomShape, stream: random.Random
) -> list[Crash]:
    crashes = []
    for i in range(shape.num_crashes):
        # every second crash needs a pair, which no single trial meets
        guilty = stream.sample(switches, 1 + i % 2)
        names = tuple(switch.name for switch in guilty)
        killed = stream.random() < 0.5
        crashes.append(
            Crash(
                all_of=names,
                phase=stream.choice(("start", "benchmark")),
                message=f"{' and '.join(names)} ended the server",
                exit_code=None if killed else 1,
                signal=9 if killed else None,
                log=(f"RuntimeError: unsupported combination of {', '.join(names)}",),
            )
        )
    return crashes


def _random_cliffs(
    switches: list[Switch], shape: RandomShape, stream: random.Random
) -> list[Cliff]:
    exact = [switch.name for switch in switches if switch.kl == 0.0 and not switch.is_dead]
    if len(exact) < 2:
        return []
    pairs = [tuple(stream.sample(exact, 2)) for _ in range(shape.num_cliffs)]
    return [Cliff(all_of=pair, kl=0.05) for pair in pairs]


def default_surface() -> Surface:
    """Return a surface of twelve actions with the order effects of a small real engine."""
    shares = {"sampler": 0.27, "linear": 0.25, "head": 0.18, "scheduler": 0.18, "attention": 0.12}
    return Surface(
        categories=tuple(
            CategoryShare(category=name, share_ratio=share) for name, share in shares.items()
        ),
        switches=(
            _switch("sampler.vectorised", Layer.FRAMEWORK, "sampler", 1.6, 6.0),
            _switch("batching.batched_decode", Layer.FRAMEWORK, "all", 0.35, 1.6),
            _switch("cache.preallocated", Layer.FRAMEWORK, "scheduler", 0.5, 1.5),
            _switch("prefill.prefix_cache", Layer.APPLICATION, "scheduler", 0.6, 2.0),
            _switch("kernels.fused_qkv", Layer.KERNEL, "linear", 0.2, 1.3),
            _switch("kernels.ragged_attention", Layer.KERNEL, "attention", 0.9, 2.5).model_copy(
                update={"needs": ("preallocated",)}
            ),
            _switch("weights.int8", Layer.COMPILER, "linear", 0.8, 2.0).model_copy(
                update={
                    "unlocked_by": ("batched_decode",),
                    "locked_log_gain": 0.25,
                    "kl": 0.0016,
                }
            ),
            _switch("weights.int4", Layer.COMPILER, "linear", 1.1, 3.0).model_copy(
                update={"kl": 0.08}
            ),
            _switch("compile.max_autotune", Layer.COMPILER, "linear", -0.08, 1.3),
            _switch("host.gc_off", Layer.DISPATCH, "scheduler", 0.0, 1.1),
            _switch("host.legacy_flag", Layer.DISPATCH, "all", 0.0, 1.05).model_copy(
                update={"is_dead": True}
            ),
        ),
        numbers=(
            Number(
                name="max_active",
                key="batching.max_active",
                low=1,
                high=64,
                baseline=4,
                optimum=24,
                curvature=0.15,
                title="Tune the number of active sequences",
                unlocked_by=("batched_decode",),
                prior_speedup_ratio=1.5,
            ),
        ),
        interactions=(
            Interaction(first="fused_qkv", second="int8", log_gain=-0.1, category="linear"),
            Interaction(first="batched_decode", second="prefix_cache", log_gain=0.05),
        ),
        crashes=(
            Crash(
                all_of=("int8", "int4"),
                message="weights cannot be quantised twice",
                log=("RuntimeError: weights are quantised already",),
            ),
            Crash(
                above={"max_active": 48},
                phase="benchmark",
                message="killed by the kernel: out of memory",
                exit_code=None,
                signal=9,
                log=("MemoryError: cache of 49 sequences",),
            ),
        ),
    )


def _switch(key: str, layer: Layer, category: str, log_gain: float, prior: float) -> Switch:
    name = key.partition(".")[2]
    return Switch(
        name=name,
        key=key,
        layer=layer,
        category=category,
        title=f"Turn on {name.replace('_', ' ')}",
        log_gain=log_gain,
        prior_speedup_ratio=prior,
    )
