"""The fake's engine: steps that take time, in which every running sequence gets one token."""

import asyncio
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fakes.fake_vllm.model import Model
from tests.fakes.fake_vllm.options import option

_BLOCK = 16


@dataclass
class Running:
    """One request in the engine.

    Attributes:
        tokens: prompt and answer so far.
        num_left: tokens still to come.
        arrived: answer tokens, None at the end.
    """

    tokens: list[int]
    num_left: int
    arrived: asyncio.Queue[int | None] = field(default_factory=asyncio.Queue)


class Scheduler:
    """Steps as long as there is work.

    Attributes:
        model: gives the tokens.
        counters: what the metrics page shows.
        latency_s: sum of the requests' times.
    """

    def __init__(self, given: Namespace) -> None:
        self.model = Model(option(given, "kv_cache_dtype", "auto"))
        self.counters: Counter[str] = Counter()
        self.latency_s = 0.0
        self.is_stuck = False
        self._max_num_seqs = option(given, "max_num_seqs", 256)
        self._step_s = step_s(given)
        self._has_cache = option(given, "enable_prefix_caching", True)
        self._cached: set[tuple[str, tuple[int, ...]]] = set()
        self._waiting: list[Running] = []
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Step for ever."""
        running: list[Running] = []
        while True:
            while self._waiting and len(running) < self._max_num_seqs:
                running.append(self._waiting.pop(0))
            if not running or self.is_stuck:
                self._wake.clear()
                await self._wake.wait()
                continue
            await asyncio.sleep(self._step_s)
            for each in running:
                token = self.model.greedy(each.tokens)
                each.tokens.append(token)
                each.num_left -= 1
                each.arrived.put_nowait(token)
                self.counters["generation_tokens"] += 1
                if each.num_left == 0:
                    each.arrived.put_nowait(None)
            running = [each for each in running if each.num_left]

    def add(self, prompt: Sequence[int], num_tokens: int, salt: str) -> Running:
        """Queue a request."""
        self._count_prefix(tuple(prompt), salt)
        request = Running(list(prompt), num_tokens)
        self._waiting.append(request)
        self._wake.set()
        return request

    def _count_prefix(self, prompt: tuple[int, ...], salt: str) -> None:
        self.counters["prompt_tokens"] += len(prompt)
        if not self._has_cache:
            return
        self.counters["prefix_cache_queries"] += len(prompt)
        keys = [(salt, prompt[:end]) for end in range(_BLOCK, len(prompt) + 1, _BLOCK)]
        for key in keys:
            if key not in self._cached:
                break
            self.counters["prefix_cache_hits"] += _BLOCK
        self._cached.update(keys)


def step_s(given: Namespace) -> float:
    """Return the length of a step, which depends on the flags: something is to be found."""
    step_ms = 8.0 if option(given, "enforce_eager", False) else 5.0
    if option(given, "quantization", None) == "int8":
        step_ms *= 0.8
    if option(given, "kv_cache_dtype", "auto") != "auto":
        step_ms *= 0.7
    if option(given, "performance_mode", "balanced") == "interactivity":
        step_ms *= 1.3
    return step_ms / 1e3
