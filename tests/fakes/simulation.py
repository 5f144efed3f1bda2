"""A simulated campaign that tests can interfere with."""

from dataclasses import dataclass, field

from arbor.actors import simulation
from arbor.actors.founding import found
from arbor.actors.journal import Journal
from arbor.actors.simulation import HARDWARE, E
from arbor.core.state import CampaignState
from arbor.events.base import Event
from arbor.events.campaign import CampaignResumed
from arbor.events.log import EventLog
from arbor.targets.landscape import LandscapeConfig
from tests.fakes.hooked_landscape import HookedLandscape

__all__ = ["HARDWARE", "E", "Simulation"]


@dataclass
class Simulation(simulation.Simulation):
    """Calls a hook before every window; may be resumed and talked to."""

    target: HookedLandscape = field(init=False)

    def create_target(self, landscape: LandscapeConfig) -> HookedLandscape:
        """Return a target with a hook."""
        return HookedLandscape(landscape, self.clock.sleep)

    def resume(self, added_wall_s: float = 0.0, log: EventLog | None = None) -> CampaignState:
        """Do what ``arbor resume`` does and run to the end."""
        found(self.place, self.log, self.campaign, HARDWARE, self.clock)
        journal = Journal(self.log, "supervisor", self.clock)
        journal.start()
        journal.append(CampaignResumed(reason="resumed", added_wall_s=added_wall_s))
        return self.run(log)

    def say(self, *events: Event) -> None:
        """Append what a human says."""
        Journal(self.log, "human", self.clock).append(*events)
