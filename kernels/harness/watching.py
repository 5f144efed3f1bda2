"""Watches what a candidate does: PyTorch operators, threads, patched functions."""

import sys
import threading
import time
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_HARMLESS = frozenset(
    {
        # allocation
        "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros",
        "zeros_like", "new_zeros", "zero_", "full", "full_like", "new_full", "fill_", "arange",
        # views
        "view", "_unsafe_view", "reshape", "as_strided", "expand", "select", "slice", "t",
        "transpose", "permute", "squeeze", "unsqueeze", "detach", "alias", "unbind", "split",
        "chunk", "narrow",
        "view_as_real", "_reshape_alias", "lift_fresh",
        # copies
        "clone", "copy_", "_to_copy", "contiguous", "_local_scalar_dense", "is_pinned",
        "record_stream", "set_", "resize_", "_has_compatible_shallow_copy_type",
    }
)  # fmt: skip


_JUDGES = tuple(
    f"arbor.kernels.harness.{name}"
    for name in ("examining", "timing", "relative_error", "guarded")
)
"""Modules whose functions a candidate might replace."""


class OperatorWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Collects the PyTorch operators that compute something.

    Attributes:
        computing: names of operators that are neither allocation, view nor copy.
        num_calls: operators seen in all.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.computing: set[str] = set()
        self.num_calls = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note the operator and run it."""
        del types
        name = func.name().split("::")[-1].split(".")[0]
        self.num_calls += 1
        if name not in _HARMLESS:
            self.computing.add(name)
        return func(*args, **(kwargs or {}))


class Tripwire:
    """Remembers functions that time, synchronise and compare, as before any candidate."""

    def __init__(self) -> None:
        self._before = _watched()

    def replaced(self) -> tuple[str, ...]:
        """Return the names of functions that are not what they were."""
        now = _watched()
        return tuple(name for name, value in self._before.items() if now.get(name) is not value)


def _watched() -> dict[str, Any]:
    owners: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
        ("time", time, ("perf_counter", "perf_counter_ns", "monotonic", "time", "sleep")),
        ("torch", torch, ("equal", "allclose", "empty", "randn", "isnan", "isfinite", "where")),
        (
            "torch.Tensor",
            torch.Tensor,
            ("copy_", "clone", "double", "norm", "view", "fill_", "__eq__"),
        ),
        (
            "torch.cuda",
            torch.cuda,
            ("synchronize", "current_stream", "Event", "graph", "CUDAGraph"),
        ),
        ("torch.cuda.Event", torch.cuda.Event, ("record", "elapsed_time", "synchronize")),
        ("torch.cuda.CUDAGraph", torch.cuda.CUDAGraph, ("replay", "capture_begin", "capture_end")),
        ("harness", OperatorWatch, ("__torch_dispatch__", "__enter__", "__exit__")),
        ("harness", Tripwire, ("replaced",)),
    )
    watched = {
        f"{label}.{name}": _raw(owner, name) for label, owner, names in owners for name in names
    }
    for module in _JUDGES:
        if module in sys.modules:
            functions = vars(sys.modules[module]).items()
            watched |= {f"{module}.{name}": value for name, value in functions if callable(value)}
    return watched


def _raw(owner: Any, name: str) -> Any:
    # methods of a class are bound anew at every look; their definitions are not
    for each in getattr(owner, "__mro__", ()):
        if name in vars(each):
            return vars(each)[name]
    return getattr(owner, name)


def thread_names() -> frozenset[str]:
    """Return the names of the threads that Python knows."""
    return frozenset(thread.name for thread in threading.enumerate())
