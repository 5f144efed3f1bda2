"""`arbor run` and `arbor resume`: the driver of a campaign."""

import json
import os
import sys
import time
import uuid
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from arbor.actors import ray_environment
from arbor.actors.decision_code import decision_code
from arbor.actors.footprint import PeakMemory
from arbor.actors.founding import (
    found_on,
    lay_ground,
    num_server_devices,
    require_machine,
)
from arbor.actors.inbox import Inbox
from arbor.actors.intake import Intake
from arbor.actors.interrupts import Interrupts
from arbor.actors.journal import Journal
from arbor.actors.ownership import (
    Earlier,
    earlier_campaign,
    hold_directory,
    move_aside,
    require_own,
    write_campaign_file,
)
from arbor.actors.processes import place_for
from arbor.actors.snapshots import Snapshots
from arbor.actors.tolerant_file import TolerantFile
from arbor.cli.progress import ProgressView
from arbor.core.campaign import (
    Campaign,
    CampaignBudget,
    dump_campaign,
    load_campaign,
    parse_duration_s,
)
from arbor.core.clock import SystemClock
from arbor.core.layout import CampaignDirectory
from arbor.core.state import CampaignState
from arbor.events.campaign import CampaignResumed, CampaignStarted
from arbor.events.errors import ArborError, InvalidInputError, LogError
from arbor.events.log import EventLog
from arbor.events.types import Hardware
from arbor.replay.report import write_reports
from arbor.replay.result import RunFacts, save_run_facts
from arbor.targets.hardware import probe_hardware
from arbor.targets.registry import create_target
from arbor.targets.sandbox.isolation import isolation
from arbor.targets.sandbox.isolation import warning as sandbox_warning

EXIT_INTERRUPTED = 130
"""Exit code of a campaign that was stopped before its end and can be resumed."""
RAY_MESSAGES = "ray.log"
"""File in the folder of logs that takes what Ray prints."""

CampaignFile = Annotated[
    Path | None, typer.Argument(metavar="CAMPAIGN.yaml", help="Campaign file; none: the engine.")
]
Directory = Annotated[Path | None, typer.Option("--dir", help="Directory of the campaign.")]
Budget = Annotated[str | None, typer.Option("--budget", help="Wall-clock time: 90s, 10m, 1h30m.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the campaign.")]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Move an earlier campaign in --dir aside first.")
]


def _campaign(path: Path | None, budget: str | None, seed: int | None) -> Campaign:
    campaign = load_campaign(path) if path is not None else Campaign(name="engine-demo")
    changes: dict[str, object] = {}
    if budget is not None:
        old = campaign.budget
        changes["budget"] = CampaignBudget(
            wall=parse_duration_s(budget), max_trials=old.max_trials, usd=old.usd
        )
    if seed is not None:
        changes["seed"] = seed
    return campaign.model_copy(update=changes)


def run(
    campaign_file: CampaignFile = None,
    budget: Budget = None,
    directory: Directory = None,
    seed: Seed = None,
    fresh: Fresh = False,
) -> None:
    """Make a serving stack faster; without a file, the embedded engine on this machine."""
    campaign = _campaign(campaign_file, budget, seed)
    path = (directory or Path("runs") / campaign.name).absolute()
    require_own(path)
    if not fresh:
        _require_room(path, earlier_campaign(path))
    hardware = _machine(campaign)
    if fresh:
        move_aside(path)
    with hold_directory(path):
        # Looked at again: only now nobody else can start here.
        earlier = earlier_campaign(path)
        _require_room(path, earlier)
        write_campaign_file(path, dump_campaign(campaign))
        campaign_id = str(uuid.uuid4()) if earlier is None else earlier.campaign_id
        raise typer.Exit(_drive(path, campaign_id, campaign, hardware, resumed=None))


def _machine(campaign: Campaign) -> Hardware | None:
    """Return this machine, fit for the campaign; None when a cluster's nodes will be looked at.

    Raises:
        InvalidInputError: it is not fit.
    """
    num_server_devices(campaign)
    if ray_environment.is_cluster_named():
        return None
    hardware = probe_hardware()
    require_machine(campaign, hardware)
    return hardware


def _require_room(path: Path, earlier: Earlier | None) -> None:
    """Check that no campaign has begun in a directory.

    Raises:
        InvalidInputError: one has.
    """
    if earlier is not None and earlier.state.started is not None:
        raise InvalidInputError(
            f"{path} already holds a campaign; `arbor resume {path}` continues it, "
            "--fresh moves it aside"
        )


def resume(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    budget: Annotated[
        str | None, typer.Option("--budget", help="Wall-clock time to add: 90s, 10m.")
    ] = None,
) -> None:
    """Continue a campaign that was interrupted, killed, or got more budget."""
    path = directory.absolute()
    if not path.is_dir():
        raise InvalidInputError(f"no directory {path}; `arbor run --dir {path}` starts a campaign")
    added = parse_duration_s(budget) if budget is not None else 0.0
    # Before the lock: a directory without a campaign is left as it is.
    _begun(path, earlier_campaign(path))
    with hold_directory(path):
        earlier, started = _begun(path, earlier_campaign(path))
        if earlier.state.is_ended and added == 0:
            raise InvalidInputError(
                f"the campaign in {path} has ended; `arbor resume {path} --budget 10m` goes on"
            )
        campaign = _recorded_campaign(started)
        hardware = _machine(campaign)
        event = CampaignResumed(
            reason="resumed by the user", added_wall_s=added, decision_code=decision_code()
        )
        raise typer.Exit(_drive(path, earlier.campaign_id, campaign, hardware, resumed=event))


def _begun(path: Path, earlier: Earlier | None) -> tuple[Earlier, CampaignStarted]:
    """Return a campaign that has begun.

    Raises:
        InvalidInputError: there is none.
    """
    if earlier is None or earlier.state.started is None:
        raise InvalidInputError(f"{path} holds no campaign; `arbor run --dir {path}` starts one")
    return earlier, earlier.state.started


def _recorded_campaign(started: CampaignStarted) -> Campaign:
    """Return what the driver needs of a campaign from the log, the only truth."""
    return Campaign(
        name=started.name,
        target=started.target,
        target_config=json.loads(started.target_config),
        search=started.settings.search,
        models=started.settings.models,
    )


def _drive(
    path: Path,
    campaign_id: str,
    campaign: Campaign,
    hardware: Hardware | None,
    resumed: CampaignResumed | None,
) -> int:
    """Run a campaign in a directory that is held; return the exit code."""
    ray_environment.prepare()
    # Ray takes a second to import and reads its environment then.
    from arbor.actors import cluster as ray_cluster  # noqa: PLC0415
    from arbor.actors.driver import supervise  # noqa: PLC0415

    # Bound to this stdout: what Ray prints on the redirected one stays out of the way.
    console = Console(file=sys.stdout)
    clock = SystemClock()
    memory = PeakMemory()
    interrupts = Interrupts(on_second=lambda: os._exit(EXIT_INTERRUPTED))
    view = ProgressView(console, clock.now)
    console.print(f"starting Ray and the actors; campaign directory {path}", soft_wrap=True)
    if campaign.models is not None and (said := sandbox_warning(isolation())) is not None:
        console.print(said, soft_wrap=True)
    if any(part.startswith("_ray_pkg_") for part in path.parts):
        console.print(
            "this directory belongs to the Ray job and goes with it: "
            "give --dir on a disk that stays",
            soft_wrap=True,
        )
    # Ray's own switches for quiet leave what it prints about restarts and ended workers.
    messages = TolerantFile(CampaignDirectory(path).logs / RAY_MESSAGES)
    with redirect_stdout(messages):
        try:
            begin = time.monotonic()
            parallel, num_devices = campaign.search.parallel, num_server_devices(campaign)
            ray_cluster.connect(parallel + bool(num_devices))
            interrupts.install()
            if not interrupts.is_set.is_set():
                seats = ray_cluster.survey(path, num_devices, parallel)
                cluster = ray_cluster.Cluster(path, campaign_id)
                cluster.start(parallel, seats, has_models=campaign.models is not None)
            if interrupts.is_set.is_set():
                console.print("stopped before anything was done")
                return EXIT_INTERRUPTED
            start_s = time.monotonic() - begin
            if hardware is None:
                ground = cluster.lay_ground(campaign)
            else:
                target = create_target(campaign.target, campaign.target_config)
                ground = lay_ground(place_for(path, target), campaign, hardware)
            found_on(ground, cluster.log, campaign, clock)
            if resumed is not None:
                _note_resumption(path, cluster.log, clock, resumed)
            state = supervise(cluster, clock, view.update, interrupts.is_set.is_set)
        finally:
            view.close()
            ray_cluster.disconnect()
            interrupts.restore()
    facts = RunFacts(start_s=start_s, peak_rss_bytes=memory.stop())
    return _conclude(path, state, facts, console)


def _note_resumption(
    path: Path, log: EventLog, clock: SystemClock, resumed: CampaignResumed
) -> None:
    journal = Journal(log, "supervisor", clock, Snapshots.of_campaign(path))
    journal.start()
    if not journal.state.is_ended:
        # What was said before the resumption comes before it: an old pause pauses nothing new.
        Intake(Inbox(CampaignDirectory(path).inbox), journal).take_in()
    journal.append(resumed)


def _conclude(path: Path, state: CampaignState, facts: RunFacts, console: Console) -> int:
    """Write the reports and say how it went; return the exit code.

    Raises:
        ArborError: the campaign ended without a result.
        LogError: the reports could not be written.
    """
    try:
        save_run_facts(path, facts)
        write_reports(path)
    except OSError as error:
        raise LogError(
            f"the log is whole, but no report could be written to {path}: {error.strerror}; "
            f"free space, then `arbor report {path}`"
        ) from error
    if not state.is_ended:
        console.print(f"stopped; continue with: arbor resume {path}", soft_wrap=True)
        return EXIT_INTERRUPTED
    console.print(f"report: {CampaignDirectory(path).report_html}", soft_wrap=True)
    sys.stdout.flush()
    _require_result(path, state)
    return 0


def _require_result(path: Path, state: CampaignState) -> None:
    """Check that the campaign got as far as its first trial.

    Raises:
        ArborError: the baseline could not be measured.
        InvalidInputError: the budget was gone before.
    """
    if state.noise is None:
        crashes = [record.crash.message for record in state.crashes]
        why = f": {crashes[-1]}" if crashes else ""
        raise ArborError(
            f"the baseline could not be measured{why}; see {CampaignDirectory(path).logs}"
        )
    costs_s = [state.trial_cost_s(name) for name in state.tree.templates]
    left_s = state.budget.remaining_s(SystemClock().now()) - state.final_reserve_s()
    if not state.budget.num_trials and costs_s and left_s < min(costs_s):
        raise InvalidInputError(
            f"the budget of {state.budget.wall_s:.0f} s was too small to try anything beside "
            f"the baseline; `arbor resume {path} --budget 10m` goes on"
        )
