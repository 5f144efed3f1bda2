"""A campaign in which nearly everything happens that can happen."""

from pathlib import Path

from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.tree import Status
from arbor.events.campaign import CampaignPaused
from arbor.events.limits import ActionVetoed, ConstraintLifted, ConstraintPublished
from arbor.events.types import ConstraintScope, Scalar
from arbor.targets.base import ServerFailedError
from arbor.targets.landscape import LandscapeConfig
from tests.fakes.mortal_log import Killed, MortalLog
from tests.fakes.simulation import Simulation


class Trouble:
    """Goes wrong at chosen calls of the target, and with chosen switches."""

    def __init__(self, simulation: Simulation, log: MortalLog) -> None:
        self._simulation = simulation
        self._log = log
        self._num_calls = 0
        self._has_lost_port = False

    def __call__(self, config: dict[str, Scalar], phase: str) -> None:
        """Fail, die or interfere."""
        self._num_calls += 1
        state = self._simulation.state()
        if config["kernels.fused_qkv"] and not self._has_lost_port:
            self._has_lost_port = True
            raise ServerFailedError(phase, "[Errno 98] address already in use")
        if config["compile.max_autotune"]:
            raise ServerFailedError(phase, "RuntimeError: no such kernel", 1)
        if self._num_calls == 31:
            self._log.kill()
        if self._num_calls == 55:
            scope = ConstraintScope(template_id="gc_off")
            self._simulation.say(
                ConstraintPublished(constraint_id="h1", scope=scope, reason="not here")
            )
        if self._num_calls == 70:
            for node in state.tree.in_flight()[:1]:
                self._simulation.say(
                    ActionVetoed(action_id=node.action_id, reason="not now", by="human")
                )
        if self._num_calls == 90:
            kept = [
                n for n in state.tree.nodes.values() if n.status is Status.KEPT and n.action_id
            ]
            veto = ActionVetoed(action_id=kept[1].action_id, reason="not safe", by="human")
            self._simulation.say(veto, ConstraintLifted(constraint_id="h1", reason="fixed"))
        if self._num_calls == 110:
            self._simulation.say(CampaignPaused(reason="lunch"))


def eventful_campaign(directory: Path) -> Simulation:
    """Return a campaign that was killed, paused, vetoed, resumed and given more budget."""
    campaign = Campaign(target="landscape", budget=CampaignBudget.model_validate({"wall": "10m"}))
    simulation = Simulation(directory, LandscapeConfig(), campaign)
    log = MortalLog(simulation.log)
    simulation.target.hook = Trouble(simulation, log)
    try:
        simulation.run(log)
    except Killed:
        simulation.clock.sleep(5000.0)
        simulation.resume()
    simulation.resume()
    simulation.resume(added_wall_s=200.0)
    return simulation
