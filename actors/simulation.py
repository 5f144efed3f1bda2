"""A whole campaign on a landscape, without Ray, git or waiting: for studies and tests."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from arbor.actors.founding import Knowledge, found, know_nothing
from arbor.actors.local import LocalCampaign
from arbor.actors.place import Place
from arbor.core.campaign import Campaign
from arbor.core.clock import VirtualClock
from arbor.core.state import CampaignState
from arbor.events.base import Event, Recorded
from arbor.events.blobs import BlobStore
from arbor.events.log import EventLog
from arbor.events.memory import MemoryLog
from arbor.events.types import Hardware
from arbor.targets.landscape import LandscapeConfig, LandscapeTarget
from arbor.targets.memory_workspace import MemoryWorkspace

E = TypeVar("E", bound=Event)
HARDWARE = Hardware(host="h", kind="cpu", device_name="test", num_cores=2, memory_bytes=1 << 30)


@dataclass
class Simulation:
    """A campaign in virtual time; ``run`` goes to its end, ``local.step`` one turn on.

    Attributes:
        directory: an empty folder for checkouts and blobs.
        landscape: what the target is made from; its clock is the virtual one.
        knowledge: what earlier campaigns left to it.
    """

    directory: Path
    landscape: LandscapeConfig = field(default_factory=LandscapeConfig)
    campaign: Campaign = field(default_factory=lambda: Campaign(target="landscape"))
    clock: VirtualClock = field(default_factory=VirtualClock)
    knowledge: Knowledge = know_nothing
    log: MemoryLog = field(init=False)
    target: LandscapeTarget = field(init=False)
    place: Place = field(init=False)
    local: LocalCampaign = field(init=False)

    def __post_init__(self) -> None:
        self.log = MemoryLog("c", self.clock.now)
        self.target = self.create_target(self.landscape.model_copy(update={"time_scale": 1.0}))
        workspace = MemoryWorkspace(self.directory / "workspace")
        blobs = BlobStore(self.directory / "blobs")
        self.place = Place(self.target, workspace, blobs, self.directory, host="h")
        (self.directory / "worktrees").mkdir(parents=True, exist_ok=True)
        found(
            self.place,
            self.log,
            self.campaign,
            HARDWARE,
            self.clock,
            knowledge=self.knowledge,
        )
        self.local = LocalCampaign(self.place, self.log, self.clock)

    def create_target(self, landscape: LandscapeConfig) -> LandscapeTarget:
        """Return the target on the virtual clock."""
        return LandscapeTarget(landscape, self.clock.sleep)

    def run(self, log: EventLog | None = None) -> CampaignState:
        """Run to the end with all actors new and return the last state."""
        self.local = LocalCampaign(self.place, log or self.log, self.clock)
        self.local.run()
        return self.local.state

    def state(self) -> CampaignState:
        """Return the state of the whole log."""
        state = CampaignState()
        for recorded in self.log.read():
            state.apply(recorded)
        return state

    def events(self) -> tuple[Recorded, ...]:
        """Return the whole log."""
        return tuple(self.log.read())

    def of_kind(self, kind: type[E]) -> list[E]:
        """Return the events of a kind, in order."""
        return [r.event for r in self.log.read() if isinstance(r.event, kind)]

    def true_ratio(self) -> float:
        """Return the true speed-up of the final stack."""
        tree = self.state().tree
        return self.target.surface.true_ratio(tree.config_at(tree.current_id))
