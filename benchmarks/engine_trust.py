"""Whether campaigns on the real engine can be trusted: A/A campaigns, and independent rechecks.

    python benchmarks/engine_trust.py --runs 10 --budget 5m             # claims, each rechecked
    python benchmarks/engine_trust.py --runs 10 --budget 5m --burn      # beside a busy neighbour
    python benchmarks/engine_trust.py --runs 10 --budget 2m --placebo   # nothing may be kept

Every campaign runs in one process of its own, without Ray, on its own pair of cores; machines with
more cores run several at once (``--parallel``), which are noisy neighbours to each other.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import typer
from table import Row, at_least, at_most, publish

from arbor.actors.founding import found
from arbor.actors.local import LocalCampaign
from arbor.actors.processes import place_for
from arbor.cli.recheck import recheck
from arbor.core.campaign import Campaign, CampaignBudget, parse_duration_s
from arbor.core.clock import SystemClock
from arbor.core.layout import CampaignDirectory
from arbor.core.tree import Status
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.parquet_log import ParquetLog
from arbor.targets.hardware import probe_hardware
from arbor.targets.registry import create_target

CORES = 2
"""Cores of a campaign."""
EXPECTED_GAIN = 5.0
INSIDE_RATIO = 0.9


def campaign_of(options: argparse.Namespace) -> Campaign:
    """Return the campaign of a run."""
    catalog = "placebo" if options.placebo else "full"
    return Campaign(
        name="engine-trust",
        target="engine",
        target_config={"catalog": catalog},
        seed=options.seed,
        budget=CampaignBudget(wall=options.budget),
    )


def run_one(options: argparse.Namespace) -> dict[str, Any]:
    """Run one campaign in this process and return what it came to."""
    directory = options.one
    campaign = campaign_of(options)
    target = create_target(campaign.target, campaign.target_config)
    hardware = probe_hardware()
    target.check(hardware)
    where = CampaignDirectory(directory)
    (directory / "worktrees").mkdir(parents=True, exist_ok=True)
    clock = SystemClock()
    place = place_for(directory, target)
    log = ParquetLog.open(where.log, "engine-trust")
    try:
        found(place, log, campaign, hardware, clock)
        local = LocalCampaign(place, log, clock)
        local.run()
        state = local.state
    finally:
        log.close()
    outcome: dict[str, Any] = {
        "kept": sum(a.outcome is Status.KEPT for a in state.tree.actions.values()),
        "tried": sum(a.node_id is not None for a in state.tree.actions.values()),
        "gain": None,
        "is_inside": None,
    }
    claims = state.final_claims()
    if not claims or not isinstance(claims[-1].result, BenchmarkMeasured):
        return outcome
    effect = claims[-1].result.effect
    outcome |= {"gain": effect.ratio, "low": effect.low, "high": effect.high}
    return outcome


def recheck_one(directory: Path) -> dict[str, Any]:
    """Measure the claim of a campaign again and return what came out."""
    path = directory / "recheck.json"
    with suppress(typer.Exit):
        recheck(directory, write=path)
    found_again = json.loads(path.read_text(encoding="utf-8"))
    return {"rechecked": found_again["rechecked"]["ratio"], "is_inside": found_again["is_inside"]}


@contextmanager
def neighbour(core: int) -> Iterator[None]:
    """Keep one core busy."""
    burner = subprocess.Popen(
        [sys.executable, "-c", "while True: pass"],
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),  # noqa: PLW1509 - no threads yet
    )
    try:
        yield
    finally:
        burner.send_signal(signal.SIGKILL)
        burner.wait()


def child(options: argparse.Namespace) -> int:
    """Run one campaign and its recheck; print the outcome as the last line."""
    cores = sorted(os.sched_getaffinity(0))
    with neighbour(cores[-1]) if options.burn else nullcontext():
        outcome = run_one(options)
    if not options.placebo and outcome["gain"] is not None:
        outcome |= recheck_one(options.one)
    sys.stdout.write("\n" + json.dumps(outcome) + "\n")
    return 0


def start(options: argparse.Namespace, number: int, cores: Sequence[int]) -> subprocess.Popen[str]:
    """Start the child of one run on some cores."""
    directory = (options.dir / f"run-{number:02d}").absolute()
    words = [sys.executable, __file__, "--one", str(directory), "--budget", str(options.budget)]
    words += ["--seed", str(options.seed + number)]
    words += ["--placebo"] * options.placebo + ["--burn"] * options.burn
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "stderr.log").open("w", encoding="utf-8") as errors:
        return subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: PLW1509 - no threads yet
        )


def run_all(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run all campaigns, some at a time; return the outcomes of those that came to one."""
    usable = sorted(os.sched_getaffinity(0))
    places = [usable[i : i + CORES] for i in range(0, len(usable) - CORES + 1, CORES)]
    places = places[: options.parallel] or [usable]
    outcomes = []
    todo = list(range(options.runs))
    running: dict[int, tuple[int, subprocess.Popen[str]]] = {}
    while todo or running:
        for slot, cores in enumerate(places):
            if slot not in running and todo:
                number = todo.pop(0)
                running[slot] = number, start(options, number, cores)
        for slot, (number, process) in list(running.items()):
            if process.poll() is None:
                continue
            del running[slot]
            lines = (process.stdout.read() if process.stdout else "").split("\n")
            if process.returncode == 0:
                outcomes.append({"run": number, **json.loads(lines[-2])})
                sys.stderr.write(f"{outcomes[-1]}\n")
            else:
                sys.stderr.write(f"run {number} failed with {process.returncode}\n")
        time.sleep(0.5)
    return outcomes


def rows(options: argparse.Namespace, outcomes: list[dict[str, Any]]) -> list[Row]:
    """Return the table."""
    neighbour_text = ", one core of each taken by another process" if options.burn else ""
    how = (
        f"{len(outcomes)} of {options.runs} campaigns of {options.budget:.0f} s, at most "
        f"{options.parallel} at once on {CORES} cores each{neighbour_text}"
    )
    finished = at_least("campaigns that ended", len(outcomes), "", options.runs, how)
    if options.placebo:
        kept = sum(outcome["kept"] for outcome in outcomes)
        tried = sum(outcome["tried"] for outcome in outcomes)
        return [
            finished,
            at_most("placebos kept", kept, "", 0, how),
            Row("placebos tried", tried, "", how=how),
        ]
    gains = [outcome["gain"] or 1.0 for outcome in outcomes]
    inside = sum(bool(outcome["is_inside"]) for outcome in outcomes)
    widths = [100 * (o["high"] - o["low"]) / o["gain"] for o in outcomes if o["gain"]]
    return [
        finished,
        at_least("median gain", statistics.median(gains), "x", EXPECTED_GAIN, how),
        Row("smallest gain", min(gains), "x", how=how),
        Row("largest gain", max(gains), "x", how=how),
        Row("median width of the claim", statistics.median(widths), "points", how=how),
        at_least("rechecks inside the claim", inside / len(outcomes), "", INSIDE_RATIO, how),
    ]


def main() -> int:
    """Run everything, or one child's part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=parse_duration_s, default=300.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--placebo", action="store_true", help="actions that change nothing")
    parser.add_argument("--burn", action="store_true", help="another process takes one core")
    parser.add_argument("--dir", type=Path, default=Path("runs/engine-trust"))
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        return child(options)
    outcomes = run_all(options)
    if not outcomes:
        sys.stderr.write(f"no campaign ended; see {options.dir}/run-*/stderr.log\n")
        return 1
    kind = "placebo" if options.placebo else "burn" if options.burn else "quiet"
    return publish(f"engine_trust_{kind}", rows(options, outcomes))


if __name__ == "__main__":
    sys.exit(main())
