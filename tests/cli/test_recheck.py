"""`arbor recheck`: an archive is only read, the outcome has an exit code, mistakes one line."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from arbor.actors.recheck import Rechecked
from arbor.cli.main import app
from arbor.core.layout import CampaignDirectory
from arbor.events.base import Recorded
from arbor.events.evidence import BenchmarkMeasured, PairMeasured
from arbor.replay.result import build_result
from tests.replay.recorded import changed, rewrite


def recheck(*words: object) -> Result:
    return CliRunner().invoke(app, ["recheck", *(str(word) for word in words)])


def error(*words: object) -> str:
    done = recheck(*words)
    assert done.exit_code == 2
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    return last


def snapshot(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_the_claim_is_found_again(finished: Path, tmp_path: Path) -> None:
    before = snapshot(finished)
    file = tmp_path / "recheck.json"
    done = recheck(finished, "--seed", 5, "--write", file)
    assert done.exit_code == 0, done.output
    assert snapshot(finished) == before
    gain = build_result(finished).gain
    assert gain is not None
    claimed = f"claimed    {gain.ratio:.3f}x [{gain.low:.3f}, {gain.high:.3f}]"
    assert claimed in done.stdout
    assert "inside the claimed interval" in done.stdout
    assert "found again" in done.stdout
    assert "start 2" in done.stdout
    assert "seed       5" in done.stdout
    assert "start 1, pair 1: " in done.stderr
    outcome = Rechecked.model_validate_json(file.read_text())
    assert outcome.holds
    assert outcome.seed == 5
    assert outcome.log_head.endswith(build_result(finished).log_digest)


def test_machines_get_only_json_and_seeds_repeat_nothing(
    finished: Path, history: tuple[Recorded, ...]
) -> None:
    done = recheck(finished, "--json", "--starts", 3, "--pairs", 2)
    outcome = Rechecked.model_validate(json.loads(done.stdout))
    assert len(outcome.starts) == 3
    assert outcome.rechecked.num_pairs == 6
    used = {r.event.candidate.seed for r in history if isinstance(r.event, PairMeasured)}
    assert not {pair.candidate.seed for pair in outcome.pairs} & used


def test_one_node(finished: Path) -> None:
    result = build_result(finished)
    node = next(n for n in result.nodes if n.effect is not None and n.status == "kept")
    done = recheck(finished, "--node", node.node_id, "--seed", 1, "--json")
    outcome = Rechecked.model_validate_json(done.stdout)
    assert (outcome.node_id, outcome.incumbent_id) == (node.node_id, node.parent_id)
    assert outcome.claimed == node.effect
    assert done.exit_code == (0 if outcome.holds else 1)


def test_an_inflated_claim_is_not_found_again(
    finished: Path, history: tuple[Recorded, ...], tmp_path: Path
) -> None:
    *_, final = (
        r
        for r in history
        if isinstance(r.event, BenchmarkMeasured) and r.event.purpose == "revalidation"
    )
    assert isinstance(final.event, BenchmarkMeasured)
    effect = final.event.effect
    inflated = {name: getattr(effect, name) * 3.0 for name in ("ratio", "low", "high")}
    events = changed(history, final.position, effect=effect.model_copy(update=inflated))
    path = rewrite(events, tmp_path / "forged")
    shutil.copytree(CampaignDirectory(finished).workspace, CampaignDirectory(path).workspace)
    done = recheck(path, "--seed", 1)
    assert done.exit_code == 1
    assert "outside the claimed interval" in done.stdout
    assert "do not overlap" in done.stdout
    assert "not found again" in done.stdout


def test_mistakes(
    finished: Path, campaign: Path, history: tuple[Recorded, ...], tmp_path: Path
) -> None:
    assert "no node 'n999'" in error(finished, "--node", "n999")
    assert "not benchmarked" in error(finished, "--node", "n000")
    assert "no such folder" in error(finished, "--write", tmp_path / "no" / "x.json")
    assert "no final claim" in error(rewrite(history[:40], tmp_path / "short"))
    (campaign / "workspace").rename(tmp_path / "elsewhere")
    assert "whole campaign directory" in error(campaign)


@pytest.mark.parametrize("words", [("--starts", 1), ("--pairs", 1), ("--seed", -1)])
def test_numbers_out_of_range(finished: Path, words: tuple[object, ...]) -> None:
    assert recheck(finished, *words).exit_code == 2
