"""Where a step's CPU time goes, by category; costs nothing while off.

Parts are wrapped in timers when a profile starts and unwrapped when it ends. The clock is the
threads' CPU time, so a busy machine does not inflate shares; work that PyTorch gives to further
threads is not seen, which keeps the shares right while all parts are split alike. What the front's
thread takes is ``http``; it runs beside the engine's, but both need the interpreter's lock.
"""

import time
from collections.abc import Callable
from typing import Any, Literal

from arbor.targets.engine.server.engine import Engine

Category = Literal[
    "sampling",
    "linear",
    "head",
    "attention",
    "norm_activation",
    "kv_cache",
    "compiled_model",
    "scheduler",
    "http",
    "other",
]
CATEGORIES: tuple[Category, ...] = Category.__args__  # type: ignore[attr-defined]  # typeshed

_NUM_CALIBRATIONS = 2000


class Profiler:
    """Exclusive thread time of an engine's parts.

    Args:
        engine: runs on the thread that starts and stops profiles.
        front: thread that talks to the clients; None if there is none.
    """

    def __init__(self, engine: Engine, front: int | None = None) -> None:
        self._engine = engine
        self._front_clock = None if front is None else time.pthread_getcpuclockid(front)
        self._wrapped: list[tuple[Any, str]] = []
        self._spent_ns: dict[str, int] = {}
        # Time that the regions inside the current one took, and what a timer takes outside itself.
        self._inner_ns = 0
        self._timer_ns = 0
        self._started_ns = self._front_started_ns = 0
        self._first_step = 0
        self._started_s = 0.0

    @property
    def is_on(self) -> bool:
        """Whether a profile runs."""
        return bool(self._wrapped)

    def start(self) -> None:
        """Wrap the parts and count from zero; a running profile starts over."""
        if self.is_on:
            self.stop()
        self._timer_ns = 0
        self._timer_ns = self._timer_cost_ns()
        self._spent_ns = dict.fromkeys(CATEGORIES, 0)
        self._first_step = self._engine.num_steps
        for owner, name, category in _parts(self._engine):
            original = getattr(owner, name)
            setattr(owner, name, self._timed(original, category))
            self._wrapped.append((owner, name))
        self._inner_ns = 0
        self._started_s = time.perf_counter()
        self._started_ns, self._front_started_ns = time.thread_time_ns(), self._front_ns()

    def stop(self) -> dict[str, Any]:
        """Unwrap the parts.

        Returns:
            `shares` by category, which sum to 1 if any step ran, and the totals they are of.
        """
        elapsed_ns = time.thread_time_ns() - self._started_ns
        num_steps = self._engine.num_steps - self._first_step
        # what the thread did outside of all timers: waking up, taking requests, waking the front
        self._spent_ns["scheduler"] += max(elapsed_ns - self._inner_ns, 0)
        self._spent_ns["http"] += self._front_ns() - self._front_started_ns
        for owner, name in reversed(self._wrapped):
            wrapper = getattr(owner, name)
            original = wrapper.__wrapped__
            if name in vars(type(owner)):
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        self._wrapped.clear()
        spent_ns = {name: max(spent, 0) for name, spent in self._spent_ns.items()}
        total_ns = sum(spent_ns.values())
        shares = {name: spent / total_ns for name, spent in spent_ns.items() if num_steps}
        return {
            "shares": shares,
            "cpu_s": total_ns / 1e9,
            "wall_s": time.perf_counter() - self._started_s,
            "num_steps": num_steps,
        }

    def _front_ns(self) -> int:
        if self._front_clock is None:
            return 0
        return time.clock_gettime_ns(self._front_clock)

    def _timer_cost_ns(self) -> int:
        """Time of one timer that it does not see itself, and so would charge to its caller."""
        self._spent_ns = {"other": 0}
        empty = self._timed(_nothing, "other")
        started_ns = time.thread_time_ns()
        for _ in range(_NUM_CALIBRATIONS):
            empty()
        elapsed_ns = time.thread_time_ns() - started_ns
        return max(elapsed_ns - self._spent_ns["other"], 0) // _NUM_CALIBRATIONS

    def _timed(self, function: Callable[..., Any], category: Category) -> Callable[..., Any]:
        spent, timer_ns = self._spent_ns, self._timer_ns
        clock = time.thread_time_ns

        def timed(*arguments: Any) -> Any:
            outer_inner_ns, self._inner_ns = self._inner_ns, 0
            started_ns = clock()
            try:
                return function(*arguments)
            finally:
                elapsed_ns = clock() - started_ns
                spent[category] += elapsed_ns - self._inner_ns
                self._inner_ns = outer_inner_ns + elapsed_ns + timer_ns

        timed.__wrapped__ = function  # type: ignore[attr-defined]  # as functools.wraps does
        return timed


def _nothing() -> None:
    """Is timed to learn what a timer costs."""


def _parts(engine: Engine) -> list[tuple[Any, str, Category]]:
    """Owner, attribute and category of every part that is timed."""
    decoder = engine.decoder
    parts: list[tuple[Any, str, Category]] = [
        (engine, "step", "scheduler"),
        (engine, "sample", "sampling"),
        (decoder, "head_product", "head"),
        (decoder.cache, "copy_in", "kv_cache"),
        (decoder.cache, "copy_out", "kv_cache"),
    ]
    if decoder.is_whole:
        return [*parts, (decoder, "forward", "compiled_model")]
    # what is left of it: the embedding, views, and the loop over the layers
    parts.append((decoder, "forward", "other"))
    for layer in decoder.layers:
        parts += [
            (layer, name, "linear") for name in ("query_key_value", "output", "gate_up", "down")
        ]
    operators = decoder.operators
    inside: list[tuple[str, Category]] = [
        ("normalise", "norm_activation"),
        ("add_and_normalise", "norm_activation"),
        ("activate", "norm_activation"),
        ("prepare", "norm_activation"),
        ("rotate", "norm_activation"),
        ("place", "kv_cache"),
        ("attend", "attention"),
    ]
    parts += [(operators, name, category) for name, category in inside if hasattr(operators, name)]
    return parts
