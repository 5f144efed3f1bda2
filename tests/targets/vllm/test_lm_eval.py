"""Scores of lm-evaluation-harness: read with their standard errors, compared by intervals."""

import json
from pathlib import Path
from typing import Any

import pytest

from arbor.core.accuracy import BoundedTaskDrop, Gate
from arbor.core.distances import summarise
from arbor.events.settings import GateSettings
from arbor.targets.base import ServerFailedError
from arbor.targets.vllm.config import LmEvalSettings
from arbor.targets.vllm.lm_eval import compare, read_score
from tests.contracts.target import Bench
from tests.targets.vllm.conftest import MakeTarget

SETTINGS = LmEvalSettings(task="gsm8k", metric="exact_match,strict-match")
RESULTS: dict[str, Any] = {
    "results": {
        "gsm8k": {
            "alias": "gsm8k",
            "exact_match,strict-match": 0.95,
            "exact_match_stderr,strict-match": 0.006,
            "exact_match,flexible-extract": 0.96,
        }
    },
    "n-samples": {"gsm8k": {"original": 1319, "effective": 1319}},
}
# writes results like the real program; its tasks are not asked for
PROGRAM = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = --output_path ] && out=$2; shift; done
mkdir -p "$out/m"
echo '%s' > "$out/m/results_2026-11-30T09-42-07.json"
"""


def write(folder: Path, results: object) -> Path:
    path = folder / "model" / "results_2026-11-30.json"
    path.parent.mkdir()
    path.write_text(json.dumps(results))
    return folder


def test_a_score_with_its_error(tmp_path: Path) -> None:
    score = read_score(write(tmp_path, RESULTS), SETTINGS)
    assert (score.score, score.standard_error, score.num_items) == (0.95, 0.006, 1319)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ({}, "lack task gsm8k"),
        ({"results": {"gsm8k": {"exact_match,strict-match": 0.9}}}, "has no exact_match_stderr"),
        (
            {"results": {"gsm8k": {"exact_match_stderr,strict-match": 0.1}}},
            "has no exact_match,strict-match: got None",
        ),
    ],
)
def test_what_was_not_measured(tmp_path: Path, results: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_score(write(tmp_path, results), SETTINGS)


def test_no_results(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no results were written"):
        read_score(tmp_path, SETTINGS)


def test_noise_counts_against_the_candidate(tmp_path: Path) -> None:
    score = read_score(write(tmp_path, RESULTS), SETTINGS)
    compared = compare(score, score, 0.05)
    assert compared.drop_low == pytest.approx(-compared.drop_high)
    assert compared.drop_high == pytest.approx(1.96 * 2**0.5 * 0.006, rel=0.01)
    few = compare(score, score.model_copy(update={"standard_error": 0.0154}), 0.05)
    rule, gate = BoundedTaskDrop(), Gate(GateSettings(), claims_exact=False)
    sample = summarise([], alpha=0.05)
    assert rule.violation(sample.model_copy(update={"task": compared}), gate) is None
    assert rule.violation(sample.model_copy(update={"task": few}), gate) is not None


@pytest.mark.parametrize("is_sound", [True, False])
def test_a_task_beside_a_server(make_target: MakeTarget, tmp_path: Path, is_sound: bool) -> None:
    program = tmp_path / "lm_eval"
    program.write_text(PROGRAM % json.dumps(RESULTS if is_sound else {}))
    program.chmod(0o755)
    settings = SETTINGS.model_copy(update={"executable": program})
    bench = Bench(make_target(lm_eval=settings.model_dump()), tmp_path / "bench")
    with bench.serve() as server:
        if not is_sound:
            with pytest.raises(ServerFailedError, match="lm_eval: the results lack task"):
                bench.target.reference(server)
            return
        sample = bench.target.accuracy(server, bench.target.reference(server))
    assert sample.task is not None
    assert sample.task.baseline_score == sample.task.score == 0.95
    assert sample.task.drop_high > 0
