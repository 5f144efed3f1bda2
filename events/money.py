"""Events of budgets; amounts are integers so that sums are exact."""

from typing import ClassVar, Literal

from pydantic import Field

from arbor.events.base import Event


class BudgetReserved(Event):
    """A paid call or a trial is about to start; unreconciled it counts as spent."""

    area: ClassVar[str] = "money"
    kind: Literal["BudgetReserved"] = "BudgetReserved"

    reservation_id: str
    wall_ms: int = Field(default=0, ge=0)
    """Expected wall-clock milliseconds."""
    usd_micro: int = Field(default=0, ge=0)
    """Millionths of a US dollar."""
    num_tokens: int = Field(default=0, ge=0)
    role: str = ""
    """Role of the language model that is about to be called; empty for anything else."""
    max_latency_ms: int = Field(default=0, ge=0)
    """After this long a call is not under way any more, whatever became of its caller."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {"budget"}


class BudgetSpent(Event):
    """What a reservation really cost."""

    area: ClassVar[str] = "money"
    kind: Literal["BudgetSpent"] = "BudgetSpent"

    reservation_id: str
    wall_ms: int = Field(default=0, ge=0)
    usd_micro: int = Field(default=0, ge=0)
    num_tokens: int = Field(default=0, ge=0)

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return super().tags() | {"budget"}
