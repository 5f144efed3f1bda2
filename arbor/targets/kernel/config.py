"""What a ``kernel`` target is made from: one operator and its shapes, or one task file."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from arbor.events.types import Value


class KernelTargetConfig(Value):
    """One operator or one task file, and how long it is timed."""

    operator: str = ""
    """Name, as ``arbor kernels list`` has it."""
    shapes: tuple[dict[str, int], ...] = ()
    """Sizes; each is tuned for itself. Empty: the operator's typical ones."""
    dtype: str = "bf16"
    task: Path | None = None
    """A file in KernelBench's form, instead of an operator."""
    candidate: Path | None = None
    """A file with ``ModelNew`` to begin with; without one, a copy of the task is edited."""
    shrinks: tuple[int, ...] = (1, 8)
    """Factors by which a task's sizes are divided, 1 being the native size."""
    interpret: bool = False
    """Run Triton's interpreter on the processor, where there is no accelerator; shows no speed."""
    num_requests: int = Field(default=20, ge=1)
    """Timed passes of a window to begin with."""
    start_timeout_s: float = Field(default=300.0, gt=0)
    request_timeout_s: float = Field(default=600.0, gt=0)

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if bool(self.operator) == (self.task is not None):
            raise ValueError("give either operator: NAME or task: FILE")
        return self
