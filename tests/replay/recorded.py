"""Real campaign directories made in virtual time: Parquet log, git repository, blobs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from pathlib import Path

from arbor.actors.founding import found
from arbor.actors.journal import Journal
from arbor.actors.local import LocalCampaign
from arbor.actors.place import Place
from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.clock import VirtualClock
from arbor.core.layout import CampaignDirectory
from arbor.events.base import Draft, Event, Recorded
from arbor.events.blobs import BlobStore
from arbor.events.campaign import CampaignResumed
from arbor.events.parquet_log import ParquetLog
from arbor.events.settings import MeasureSettings, SearchSettings
from arbor.events.types import Hardware
from arbor.targets.landscape import LandscapeTarget
from arbor.targets.workspace import Workspace
from tests.fakes.small_surface import declared

HARDWARE = Hardware(
    host="h", kind="cpu", device_name="Test CPU", num_cores=2, memory_bytes=8 << 30
)
DOWNTIME_S = 3600.0
KILLED_AFTER_STEPS = 7
"""One turn in the middle of the search, with work in flight."""


class Recorder:
    """Runs one campaign on the small landscape in a directory."""

    def __init__(self, directory: Path, campaign: Campaign, compact_after: int) -> None:
        self.directory = directory
        self.campaign = campaign
        self.compact_after = compact_after
        self.clock = VirtualClock()
        target = LandscapeTarget(declared(time_scale=1.0), sleep=self.clock.sleep)
        names = CampaignDirectory(directory)
        self.place = Place(
            target, Workspace(names.workspace), BlobStore(names.blobs), directory, host="h"
        )

    def open(self, resumed: CampaignResumed | None) -> tuple[ParquetLog, LocalCampaign]:
        """Begin a session as the driver does."""
        log = ParquetLog.open(
            CampaignDirectory(self.directory).log,
            "campaign-1",
            clock=self.clock.now,
            compact_after=self.compact_after,
        )
        found(self.place, log, self.campaign, HARDWARE, self.clock)
        if resumed is not None:
            journal = Journal(log, "supervisor", self.clock)
            journal.start()
            journal.append(resumed)
        return log, LocalCampaign(self.place, log, self.clock)

    def run(self, *, is_killed: bool) -> None:
        """Run to the end; if asked, with one kill and a long downtime on the way."""
        log, local = self.open(None)
        if is_killed:
            local.start()
            for _ in range(KILLED_AFTER_STEPS):
                local.step()
            log.close()
            self.clock.sleep(DOWNTIME_S)
            log, local = self.open(CampaignResumed(reason="after a kill"))
        local.run()
        log.close()


def record(
    directory: Path,
    *,
    name: str = "demo",
    score: str = "risk_averse",
    policy: str = "depth_first",
    wall_s: float = 320.0,
    is_killed: bool = True,
    compact_after: int = 10_000,
) -> Path:
    """Make a finished campaign and return its directory."""
    directory.mkdir(parents=True)
    campaign = Campaign(
        name=name,
        target="landscape",
        # As recorded it never sleeps, so that whoever takes the campaign up need not wait.
        target_config=declared().model_dump(mode="json"),
        budget=CampaignBudget(wall=wall_s),
        search=SearchSettings.model_validate(
            {"score": score, "policy": policy, "tuning_trials": 3}
        ),
        measure=MeasureSettings(max_pairs=8),
    )
    Recorder(directory, campaign, compact_after).run(is_killed=is_killed)
    return directory


Change = Callable[[Recorded], Recorded]


def changed(events: Sequence[Recorded], position: int, **fields: object) -> tuple[Recorded, ...]:
    """Return the events with fields of one payload replaced, unchecked."""
    return tuple(
        replace(r, event=r.event.model_copy(update=fields)) if r.position == position else r
        for r in events
    )


def renumbered(events: Iterable[tuple[Recorded, int]]) -> tuple[Recorded, ...]:
    """Return events in a new order with positions and decisions that fit again.

    Args:
        events: every event with its old position; 0 for one that is new.
    """
    listed = list(events)
    new_of = {0: 0}
    for number, (_, old) in enumerate(listed, start=1):
        if old:
            new_of[old] = number
    result = []
    for number, (recorded, _) in enumerate(listed, start=1):
        after = recorded.decided_after
        while after is not None and after not in new_of:
            after -= 1
        result.append(
            replace(
                recorded,
                position=number,
                decided_after=None if after is None else new_of[after],
            )
        )
    return tuple(result)


def without(events: Sequence[Recorded], *positions: int) -> tuple[Recorded, ...]:
    """Return the events without some of them."""
    return renumbered((r, r.position) for r in events if r.position not in positions)


def inserted(
    events: Sequence[Recorded], before: int, event: Event, actor: str
) -> tuple[Recorded, ...]:
    """Return the events with a new one before a position."""
    pairs: list[tuple[Recorded, int]] = []
    for recorded in events:
        if recorded.position == before:
            new = replace(
                recorded,
                event=event,
                event_id=f"new-{before}",
                actor=actor,
                incarnation=0,
                decided_after=None,
                decided_at=None,
            )
            pairs.append((new, 0))
        pairs.append((recorded, recorded.position))
    return renumbered(pairs)


def rewrite(events: Sequence[Recorded], directory: Path) -> Path:
    """Write events into a new log through its public interface, each at its own time."""
    now: list[datetime] = [events[0].recorded_at]
    log = ParquetLog.open(
        CampaignDirectory(directory).log,
        events[0].campaign_id,
        clock=lambda: now[0],
        compact_after=len(events) + 1,
    )
    for moment, group in groupby(events, key=lambda r: r.recorded_at):
        now[0] = moment
        log.append(
            [
                Draft(r.event, r.event_id, r.actor, r.incarnation, r.decided_after, r.decided_at)
                for r in group
            ]
        )
    log.close()
    return directory
