"""A task of lm-evaluation-harness against a running server, and its results file."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any

from arbor.events.types import TaskScore
from arbor.targets.vllm.commands import run_beside
from arbor.targets.vllm.config import LmEvalSettings
from arbor.targets.vllm.server import VllmServer

_PHASE = "accuracy"


def measure_task(
    server: VllmServer,
    settings: LmEvalSettings,
    executable: Path,
    env: Mapping[str, str],
    tokeniser: Path,
) -> TaskScore:
    """Return a server's score of the task, as its own baseline.

    Args:
        server: what is measured.
        settings: task and limits.
        executable: the ``lm_eval`` program.
        env: its environment.
        tokeniser: folder with the model's tokeniser.

    Raises:
        ServerFailedError: the server failed, or the task gave no score: it is never passed.
    """
    with tempfile.TemporaryDirectory(prefix="arbor-lm-eval-") as name:
        folder = Path(name)
        run_beside(
            [str(executable), *words(server, settings, tokeniser, folder)],
            env,
            folder,
            phase=_PHASE,
            limit_s=settings.limit_s,
            server=server.child,
        )
        try:
            return read_score(folder, settings)
        except (OSError, ValueError) as error:
            raise server.failure(_PHASE, f"lm_eval: {error}") from error


def words(
    server: VllmServer, settings: LmEvalSettings, tokeniser: Path, folder: Path
) -> list[str]:
    """Return the arguments of ``lm_eval``."""
    model = ",".join(
        (
            f"model={server.name}",
            f"base_url=http://{server.host}:{server.port}/v1/completions",
            f"num_concurrent={settings.concurrency}",
            f"tokenizer={tokeniser}",
            "tokenized_requests=False",
        )
    )
    found = ["--model", "local-completions", "--model_args", model, "--tasks", settings.task]
    found += ["--output_path", str(folder)]
    if settings.num_fewshot is not None:
        found += ["--num_fewshot", str(settings.num_fewshot)]
    if settings.limit is not None:
        found += ["--limit", str(settings.limit)]
    if settings.include_path is not None:
        found += ["--include_path", str(settings.include_path.resolve())]
    return found


def read_score(folder: Path, settings: LmEvalSettings) -> TaskScore:
    """Return the score in the newest results file below a folder.

    Raises:
        ValueError: there is no file, or no score with its standard error in it.
    """
    files = sorted(folder.rglob("results_*.json"), key=lambda path: path.stat().st_mtime)
    if not files:
        raise ValueError("no results were written")
    results: Any = json.loads(files[-1].read_text(encoding="utf-8"))
    try:
        task = results["results"][settings.task]
    except (KeyError, TypeError) as error:
        raise ValueError(f"the results lack task {settings.task}") from error
    metric, _, filtered = settings.metric.partition(",")
    names = (settings.metric, f"{metric}_stderr,{filtered}" if filtered else f"{metric}_stderr")
    score, error_ = (task.get(name) for name in names)
    for name, value in zip(names, (score, error_), strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - NaN
            raise ValueError(f"task {settings.task} has no {name}: got {value!r}")
    return TaskScore(
        name=f"{settings.task} {settings.metric}",
        score=score,
        standard_error=error_,
        num_items=_num_items(results, settings),
        baseline_score=score,
        drop_low=0.0,
        drop_high=0.0,
    )


def compare(baseline: TaskScore, found: TaskScore, alpha: float) -> TaskScore:
    """Return a score with the interval of its drop below the baseline's.

    The items are the same, so that this interval, which takes them for independent ones, is wider
    than needed and never too narrow.

    Args:
        baseline: the baseline's score.
        found: the candidate's.
        alpha: miscoverage of the interval.
    """
    drop = baseline.score - found.score
    error = (baseline.standard_error**2 + found.standard_error**2) ** 0.5
    radius = NormalDist().inv_cdf(1.0 - alpha / 2.0) * error
    return found.model_copy(
        update={
            "baseline_score": baseline.score,
            "drop_low": drop - radius,
            "drop_high": drop + radius,
        }
    )


def _num_items(results: dict[str, Any], settings: LmEvalSettings) -> int:
    counts = results.get("n-samples")
    told = counts.get(settings.task) if isinstance(counts, dict) else None
    number = told.get("effective") if isinstance(told, dict) else None
    return number if isinstance(number, int) else 0
