"""`arbor run` and `arbor resume`: the driver of a campaign."""

import os
import sys
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from arbor.actors import ray_environment
from arbor.actors.footprint import PeakMemory
from arbor.actors.founding import found
from arbor.actors.interrupts import Interrupts
from arbor.actors.journal import Journal
from arbor.actors.ownership import existing_campaign_id, hold_directory
from arbor.actors.processes import place_for
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
from arbor.events.campaign import CampaignResumed
from arbor.events.errors import InvalidInputError
from arbor.events.log import EventLog
from arbor.events.types import Hardware
from arbor.replay.report import write_reports
from arbor.replay.result import RunFacts, save_run_facts
from arbor.targets.hardware import probe_hardware
from arbor.targets.registry import create_target

EXIT_INTERRUPTED = 130
"""Exit code of a campaign that was stopped before its end and can be resumed."""

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


def _move_aside(directory: Path) -> None:
    """Keep an earlier campaign beside the new one.

    Raises:
        InvalidInputError: the directory is something else than a campaign.
    """
    if not CampaignDirectory(directory).log.exists():
        if any(directory.iterdir()):
            raise InvalidInputError(
                f"{directory} is not empty and holds no campaign; choose another --dir"
            )
        return
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    directory.rename(directory.with_name(f"{directory.name}.{stamp}"))


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
    if fresh and path.is_dir():
        _move_aside(path)
    if CampaignDirectory(path).log.exists():
        raise InvalidInputError(
            f"{path} already holds a campaign; `arbor resume {path}` continues it, "
            "--fresh moves it aside"
        )
    hardware = probe_hardware()
    target = create_target(campaign.target, campaign.target_config)
    target.check(hardware)
    with hold_directory(path):
        CampaignDirectory(path).campaign_file.write_text(dump_campaign(campaign))
        raise typer.Exit(_drive(path, str(uuid.uuid4()), campaign, hardware, resumed=None))


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
    campaign_id = existing_campaign_id(path)
    if campaign_id is None:
        raise InvalidInputError(f"{path} holds no campaign; `arbor run --dir {path}` starts one")
    added = parse_duration_s(budget) if budget is not None else 0.0
    campaign = load_campaign(CampaignDirectory(path).campaign_file)
    with hold_directory(path):
        event = CampaignResumed(reason="resumed by the user", added_wall_s=added)
        raise typer.Exit(_drive(path, campaign_id, campaign, probe_hardware(), resumed=event))


def _drive(
    path: Path,
    campaign_id: str,
    campaign: Campaign,
    hardware: Hardware,
    resumed: CampaignResumed | None,
) -> int:
    """Run a campaign in a directory that is held; return the exit code."""
    ray_environment.prepare()
    # Ray takes a second to import and reads its environment then.
    from arbor.actors import cluster as ray_cluster  # noqa: PLC0415
    from arbor.actors.driver import supervise  # noqa: PLC0415

    console = Console()
    clock = SystemClock()
    memory = PeakMemory()
    interrupts = Interrupts(on_second=lambda: os._exit(EXIT_INTERRUPTED))
    view = ProgressView(console, clock.now)
    console.print(f"starting Ray and the actors; campaign directory {path}", soft_wrap=True)
    try:
        begin = time.monotonic()
        ray_cluster.connect(hardware.num_cores)
        cluster = ray_cluster.Cluster(path, campaign_id)
        cluster.start(campaign.search.parallel)
        start_s = time.monotonic() - begin
        target = create_target(campaign.target, campaign.target_config)
        found(place_for(path, target), cluster.log, campaign, hardware, clock)
        if resumed is not None:
            _note_resumption(cluster.log, clock, path, resumed)
        state = supervise(cluster, clock, view.update, interrupts.is_set.is_set)
    finally:
        view.close()
        ray_cluster.disconnect()
        interrupts.restore()
    save_run_facts(path, RunFacts(start_s=start_s, peak_rss_bytes=memory.stop()))
    return _conclude(path, state, console)


def _note_resumption(
    log: EventLog, clock: SystemClock, path: Path, resumed: CampaignResumed
) -> None:
    """Append CampaignResumed; an ended campaign needs new budget.

    Raises:
        InvalidInputError: the campaign has ended and no budget was added.
    """
    journal = Journal(log, "supervisor", clock)
    journal.start()
    if journal.state.is_ended and resumed.added_wall_s == 0:
        raise InvalidInputError(
            f"the campaign in {path} has ended; `arbor resume {path} --budget 10m` goes on"
        )
    journal.append(resumed)


def _conclude(path: Path, state: CampaignState, console: Console) -> int:
    write_reports(path)
    if not state.is_ended:
        console.print(f"stopped; continue with: arbor resume {path}", soft_wrap=True)
        return EXIT_INTERRUPTED
    console.print(f"report: {CampaignDirectory(path).report_html}", soft_wrap=True)
    sys.stdout.flush()
    return 0
