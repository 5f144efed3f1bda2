"""A whole campaign on a landscape without Ray, git or waiting."""

from dataclasses import dataclass, field
from pathlib import Path

from arbor.actors.founding import found
from arbor.actors.journal import Journal
from arbor.actors.local import LocalCampaign
from arbor.actors.place import Place
from arbor.core.campaign import Campaign
from arbor.core.clock import VirtualClock
from arbor.core.state import CampaignState
from arbor.events.base import Recorded
from arbor.events.blobs import BlobStore
from arbor.events.campaign import CampaignResumed
from arbor.events.memory import MemoryLog
from arbor.events.types import Hardware
from arbor.targets.landscape import LandscapeConfig, LandscapeTarget
from tests.fakes.memory_workspace import MemoryWorkspace

HARDWARE = Hardware(host="h", kind="cpu", device_name="test", num_cores=2, memory_bytes=1 << 30)


@dataclass
class Simulation:
    """A campaign in virtual time; ``run`` goes to its end, ``campaign.step`` one turn on."""

    directory: Path
    landscape: LandscapeConfig
    campaign_file: Campaign
    clock: VirtualClock = field(default_factory=VirtualClock)
    log: MemoryLog = field(init=False)
    target: LandscapeTarget = field(init=False)
    place: Place = field(init=False)
    local: LocalCampaign = field(init=False)

    def __post_init__(self) -> None:
        self.log = MemoryLog("c", self.clock.now)
        landscape = self.landscape.model_copy(update={"time_scale": 1.0})
        self.target = LandscapeTarget(landscape, sleep=self.clock.sleep)
        self.place = Place(
            self.target,
            MemoryWorkspace(self.directory / "workspace"),
            BlobStore(self.directory / "blobs"),
            self.directory,
            host="h",
        )
        (self.directory / "worktrees").mkdir(parents=True, exist_ok=True)
        found(self.place, self.log, self.campaign_file, HARDWARE, self.clock)
        self.local = LocalCampaign(self.place, self.log, self.clock)

    def run(self) -> CampaignState:
        """Run to the end and return the last state."""
        self.local.run()
        return self.local.state

    def resume(self, added_wall_s: float = 0.0, reason: str = "more budget") -> CampaignState:
        """Do what ``arbor resume`` does, with all actors new, and run to the end."""
        found(self.place, self.log, self.campaign_file, HARDWARE, self.clock)
        journal = Journal(self.log, "supervisor", self.clock)
        journal.start()
        journal.append(CampaignResumed(reason=reason, added_wall_s=added_wall_s))
        self.local = LocalCampaign(self.place, self.log, self.clock)
        return self.run()

    def events(self) -> tuple[Recorded, ...]:
        """Return the whole log."""
        return tuple(self.log.read())

    def true_ratio(self) -> float:
        """Return the true speed-up of the final stack."""
        tree = self.local.state.tree
        return self.target.surface.true_ratio(tree.config_at(tree.current_id))
