"""`arbor recheck`: a campaign's claim, measured again by somebody else."""

import json
import secrets
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from arbor.actors.processes import place_for
from arbor.actors.recheck import Plan, Recheck, Rechecked, differences
from arbor.cli.console import say
from arbor.cli.text import commit, interval, one_line
from arbor.core.claims import Claim, final_claim, node_claim
from arbor.core.layout import CampaignDirectory
from arbor.core.seeds import SeedsSeen
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID
from arbor.events.errors import InvalidInputError
from arbor.events.types import AccuracySample, Effect
from arbor.replay.reading import Recording, open_campaign
from arbor.replay.repository import copy_nodes
from arbor.targets.base import Target
from arbor.targets.hardware import probe_hardware
from arbor.targets.registry import create_target
from arbor.targets.workspace import BASELINE_BRANCH

EXIT_NOT_FOUND_AGAIN = 1
_MIN_STARTS = 2
_NUM_STARTS = 3
"""Starts of a recheck; more than a claim has, since it should be the more precise of both."""
_NUM_SEEDS = 1 << 31


def recheck(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    *,
    node: Annotated[
        str | None, typer.Option("--node", help="One node against its parent, not the claim.")
    ] = None,
    starts: Annotated[
        int | None, typer.Option("--starts", min=_MIN_STARTS, help="Server starts per arm.")
    ] = None,
    pairs: Annotated[int | None, typer.Option("--pairs", min=2, help="Pairs per start.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed; random if none.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Write the outcome as JSON.")
    ] = None,
) -> None:
    """Measure a claim again, fresh servers and seeds; exit 1 when it is not found again."""
    if write is not None and not write.absolute().parent.is_dir():
        raise InvalidInputError(f"cannot write {write}: there is no such folder")
    recording = open_campaign(directory)
    target = create_target(recording.started.target, json.loads(recording.started.target_config))
    plan = _plan(recording, target, node=node, starts=starts, pairs=pairs, seed=seed)
    outcome = _measure(recording.directory, target, plan)
    text = outcome.model_dump_json(indent=2) + "\n"
    say(text if as_json else "\n".join(_lines(outcome)))
    if write is not None:
        _write(write, text)
    if not outcome.holds:
        raise typer.Exit(EXIT_NOT_FOUND_AGAIN)


def _plan(
    recording: Recording,
    target: Target,
    *,
    node: str | None,
    starts: int | None,
    pairs: int | None,
    seed: int | None,
) -> Plan:
    state, seen = CampaignState(), SeedsSeen()
    recording.fold(state, seen)
    claim = final_claim(state) if node is None else node_claim(state, node)
    hardware = probe_hardware()
    target.check(hardware)
    head = recording.reader.head()
    measure = state.settings.measure
    notes = differences(recording.started.hardware, hardware)
    if not state.is_ended:
        notes = (
            *notes,
            "the campaign has not ended: if it runs here now, both disturb each other",
        )
    return Plan(
        campaign_id=recording.reader.campaign_id,
        log_head=f"{head.position}:{head.digest}",
        recorded_on=recording.started.hardware,
        measured_on=hardware,
        claim=claim,
        settings=state.settings,
        num_starts=starts or max(_NUM_STARTS, measure.final_starts),
        num_pairs=pairs or max(measure.final_pairs, claim.effect.num_pairs // _NUM_STARTS),
        seed=secrets.randbelow(_NUM_SEEDS) if seed is None else seed,
        used_seeds=frozenset(seen.seeds),
        notes=notes,
    )


def _measure(names: CampaignDirectory, target: Target, plan: Plan) -> Rechecked:
    """Measure in a temporary place; the campaign's directory is only read."""
    claim = plan.claim
    _progress(f"recheck of {names.path}: {_arms(claim)}; seed {plan.seed}")
    with tempfile.TemporaryDirectory(prefix="arbor-recheck-") as folder:
        path = Path(folder)
        branches = {
            BASELINE_BRANCH: claim.root_commit,
            "recheck/candidate": claim.commit,
            "recheck/incumbent": claim.incumbent_commit,
        }
        copy_nodes(names.workspace, CampaignDirectory(path).workspace, branches)
        return Recheck(place_for(path, target), plan, _progress).run()


def _progress(line: str) -> None:
    """Print a line that is no part of the outcome."""
    sys.stderr.write(one_line(line, 400) + "\n")
    sys.stderr.flush()


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"cannot write {path}: {error.strerror}") from error


def _arms(claim: Claim | Rechecked) -> str:
    is_root = claim.incumbent_id == ROOT_ID
    other = "the frozen baseline" if is_root else f"its parent {claim.incumbent_id}"
    measured, against = commit(claim.commit), commit(claim.incumbent_commit)
    return f"{claim.node_id} ({measured}) against {other} ({against})"


def _lines(outcome: Rechecked) -> Iterator[str]:
    yield f"arms       {_arms(outcome)}"
    yield f"claimed    {_effect(outcome.claimed)}"
    yield f"rechecked  {_effect(outcome.rechecked)}"
    for start in outcome.starts:
        yield f"  start {start.start}  {start.ratio:.3f}x over {start.num_pairs} pairs"
    inside = "inside" if outcome.is_inside else "outside"
    yield f"ratio      {inside} the claimed interval"
    yield f"intervals  {'overlap' if outcome.overlaps else 'do not overlap'}"
    gate = outcome.accuracy_violation or "within the gate"
    claimed = outcome.claimed_accuracy
    before = f" (claimed: {_distance(claimed)})" if claimed is not None else ""
    yield f"accuracy   {gate}: {_distance(outcome.accuracy)}{before}"
    load = outcome.max_foreign_cpu_ratio
    num_flawed = sum(not pair.is_valid for pair in outcome.pairs)
    seen = f"at most {load:.0%} of the cores" if load is not None else "not observed"
    yield f"load       other processes: {seen}; {num_flawed} pairs did not count"
    yield f"seed       {outcome.seed}"
    for note in outcome.notes:
        yield f"note       {one_line(note, 400)}"
    yield f"verdict    {'found again' if outcome.holds else 'not found again'}"


def _effect(effect: Effect) -> str:
    starts = effect.num_starts_per_arm
    return (
        f"{interval(effect)} over {effect.num_pairs} pairs,"
        f" {starts} start{'s' if starts != 1 else ''} per arm"
    )


def _distance(sample: AccuracySample) -> str:
    return f"KL {sample.kl_mean:.2e} nats, top-1 {sample.top1_agreement_ratio:.2%}"
