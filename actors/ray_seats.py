"""Seats as placement groups, and the specialists' processes that sit on them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from arbor.actors.ray_actors import DEVICE_RESOURCE, SpecialistActor
from arbor.core.seats import SEAT_CPUS

MAX_RESTARTS = 10
"""Of a specialist's process that dies before it can say so in the log; then it is let go."""


@dataclass(slots=True)
class Hand:
    """A specialist's process, and what it works on.

    Attributes:
        actor: the process.
        group: its seat; None when it borrows the bench's.
        run: its work now.
    """

    actor: Any
    group: PlacementGroup | None
    run: Any = None

    def let_go(self) -> None:
        """End the process and give its seat up."""
        ray.kill(self.actor)
        if self.group is not None:
            remove_placement_group(self.group)


def open_seat(num_devices: int, timeout_s: float) -> PlacementGroup | None:
    """Return a seat on one node, or None when there is no room within the time.

    Ray leaves a group that never fits pending without a word, so whoever asks has counted.
    """
    bundle = {"CPU": SEAT_CPUS} | ({DEVICE_RESOURCE: num_devices} if num_devices else {})
    group: PlacementGroup = placement_group([bundle], strategy="STRICT_PACK")
    if group.wait(timeout_s):
        return group
    remove_placement_group(group)
    return None


def is_standing(group: PlacementGroup) -> bool:
    """Return whether a seat has its node; Ray looks for another node when that one is lost."""
    return bool(placement_group_table(group)["state"] == "CREATED")


def on_seat(group: PlacementGroup, num_devices: int, num_cpus: int = SEAT_CPUS) -> dict[str, Any]:
    """Return the options of an actor that sits there with so many of its devices."""
    return {
        "num_cpus": num_cpus,
        "num_gpus": num_devices,
        "scheduling_strategy": PlacementGroupSchedulingStrategy(placement_group=group),
    }


def seat_specialist(
    group: PlacementGroup, num_devices: int, directory: Path, campaign_id: str
) -> Hand:
    """Start a specialist's process on a seat of its own."""
    where = f"placement group {group.id.hex()}"
    options = on_seat(group, num_devices)
    return Hand(_specialist(options, directory, campaign_id, where, is_borrower=False), group)


def seat_borrower(bench: PlacementGroup, directory: Path, campaign_id: str) -> Hand:
    """Start a specialist's process on the bench's node, to use its devices in turn with it."""
    where = f"placement group {bench.id.hex()} of the bench"
    options = on_seat(bench, 0, num_cpus=0)
    return Hand(_specialist(options, directory, campaign_id, where, is_borrower=True), None)


def _specialist(
    options: dict[str, Any], directory: Path, campaign_id: str, where: str, *, is_borrower: bool
) -> Any:
    specialist_class: Any = ray.remote(SpecialistActor)
    return specialist_class.options(
        max_concurrency=2, max_restarts=MAX_RESTARTS, max_task_retries=-1, **options
    ).remote(str(directory), campaign_id, where, is_borrower=is_borrower)
