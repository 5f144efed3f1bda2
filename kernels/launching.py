"""One door for starting kernels, where a launch can be recorded instead of run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from arbor.kernels.architectures import is_interpreted

Config = Mapping[str, int | str]
"""Block sizes and other compile-time numbers by the kernel's names, and launch options."""

LAUNCH_OPTIONS = frozenset(
    {"num_warps", "num_stages", "waves_per_eu", "matrix_instr_nonkdim", "kpack"}
)
"""Keys of a configuration that the compiler reads and not the kernel."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel with everything that its compilation depends on.

    Attributes:
        kernel: the decorated function.
        grid: number of programs along each axis.
        arguments: tensors and numbers by parameter.
        constants: compile-time values by parameter.
        options: warps, stages and the like.
    """

    kernel: Any
    grid: tuple[int, ...]
    arguments: Mapping[str, Any]
    constants: Mapping[str, Any]
    options: Mapping[str, Any]


_recorder: ContextVar[list[Launch] | None] = ContextVar("recorder", default=None)


def launch(
    kernel: Any,
    grid: Sequence[int],
    arguments: Mapping[str, Any],
    constants: Mapping[str, Any],
    options: Config,
) -> None:
    """Start a kernel, or record it inside ``recorded_launches``.

    Args:
        kernel: a function decorated with ``triton.jit``.
        grid: number of programs along each axis; nothing is started when one is 0.
        arguments: tensors and numbers by parameter.
        constants: compile-time values by parameter.
        options: a configuration, of which the launch options are taken.
    """
    if 0 in grid:
        return
    chosen: dict[str, Any] = {
        key: value for key, value in options.items() if key in LAUNCH_OPTIONS
    }
    # said here since Triton's default differs between releases
    chosen["enable_fp_fusion"] = True
    recorder = _recorder.get()
    if recorder is not None:
        recorder.append(Launch(kernel, tuple(grid), dict(arguments), dict(constants), chosen))
        return
    if is_interpreted():
        chosen = {}
    kernel[tuple(grid)](**arguments, **constants, **chosen)


@contextmanager
def recorded_launches() -> Iterator[list[Launch]]:
    """Collect launches without running them; tensors may lie on PyTorch's ``meta`` device."""
    launches: list[Launch] = []
    token = _recorder.set(launches)
    try:
        yield launches
    finally:
        _recorder.reset(token)


def ceil_div(number: int, by: int) -> int:
    """Return ``number / by``, rounded up."""
    return -(-number // by)


def next_power_of_2(number: int) -> int:
    """Return the smallest power of two that is not less than a positive number."""
    return 1 << (number - 1).bit_length()
