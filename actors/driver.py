"""The driver's loop: supervises the cluster, employs specialists, stops cleanly."""

from collections.abc import Callable
from datetime import datetime

from arbor.actors.cluster import Cluster
from arbor.actors.crew import DispatchBoard
from arbor.actors.inbox import Inbox
from arbor.actors.intake import Intake
from arbor.actors.shell import ReactorShell
from arbor.actors.snapshots import Snapshots
from arbor.actors.supervisor import Supervisor
from arbor.core.clock import Clock
from arbor.core.layout import CampaignDirectory
from arbor.core.state import CampaignState
from arbor.events.campaign import CampaignPaused

TICK_S = 0.25
"""Longest wait of the driver before it draws and looks again."""
STOP_TIMEOUT_S = 10.0
"""Actors get this long to return by themselves."""

Watcher = Callable[[CampaignState, datetime], None]


def supervise(
    cluster: Cluster, clock: Clock, watch: Watcher, is_interrupted: Callable[[], bool]
) -> CampaignState:
    """Run the campaign until it ends or is interrupted; return its last state.

    An interruption is recorded as CampaignPaused, so that ``arbor resume`` continues. What people
    say meanwhile is taken in from the inbox.

    Raises:
        ArborError: an actor broke for good.
    """
    snapshots = Snapshots.of_campaign(cluster.directory)
    shell = ReactorShell(Supervisor(), cluster.log, clock, snapshots)
    state = shell.journal.state
    board = DispatchBoard(state)
    intake = Intake(Inbox(CampaignDirectory(cluster.directory).inbox), shell.journal)
    shell.start()
    cluster.run()
    while not state.is_ended:
        intake.take_in()
        shell.run_until_quiet()
        if is_interrupted():
            shell.journal.append(CampaignPaused(reason="interrupted by the user"))
            shell.journal.catch_up()
            break
        for dispatch in board.waiting():
            cluster.employ(dispatch, shell.journal)
        cluster.release_finished(board, shell.journal)
        cluster.check()
        snapshots.save_if_due(state)
        watch(state, clock.now())
        shell.wait(TICK_S)
    watch(state, clock.now())
    cluster.stop(STOP_TIMEOUT_S if state.is_ended else 0.0)
    return state
