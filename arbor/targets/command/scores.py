"""A score that a user's program prints, beside the baseline's."""

import json
import math
import statistics
from typing import Any

from scipy.special import ndtri

from arbor.core.accuracy import Gate
from arbor.core.distances import Interval, cluster_interval, least_radius, summarise
from arbor.events.types import AccuracySample, TaskScore
from arbor.targets.base import ServerFailedError
from arbor.targets.command.locators import NotFoundInOutputError, Output
from arbor.targets.command.measures import CommandAccuracy
from arbor.targets.command.process import CommandServer
from arbor.targets.command.programs import run_command

_ALPHA = 0.05


class ScoreCheck:
    """Runs the program on servers.

    Without distances of tokens, what it finds is accepted only under
    ``gate.required_passes: []``.

    Args:
        settings: the program, and where its score stands.
    """

    def __init__(self, settings: CommandAccuracy) -> None:
        self._settings = settings

    def reference(self, server: CommandServer) -> bytes:
        """Return the baseline's score.

        Raises:
            ServerFailedError: the program failed, or printed no score.
        """
        return json.dumps(self._run(server)).encode()

    def accuracy(
        self, server: CommandServer, reference: bytes, gate: Gate | None
    ) -> AccuracySample:
        """Return the score and the interval of what was lost.

        Raises:
            ServerFailedError: the program failed, or printed no score, or solved other problems.
        """
        alpha = _ALPHA if gate is None else gate.settings.alpha
        before, found = json.loads(reference), self._run(server)
        if found["num_items"] != before["num_items"]:
            message = f"{found['num_items']} problems instead of {before['num_items']}"
            raise server.child.failure("accuracy", message)
        score, spread = _moments(found)
        baseline_score, baseline_spread = _moments(before)
        if found["items"] is None:
            radius = float(ndtri(1.0 - alpha / 2.0)) * math.hypot(spread, baseline_spread)
            mean = baseline_score - score
            drop = Interval(mean, mean - radius, mean + radius)
        else:
            pairs = zip(before["items"], found["items"], strict=True)
            drop = cluster_interval([ours - theirs for ours, theirs in pairs], alpha)
        # what never happened among so many may still happen
        least = least_radius(found["num_items"], alpha)
        task = TaskScore(
            name=self._settings.name,
            score=score,
            standard_error=spread,
            num_items=found["num_items"],
            baseline_score=baseline_score,
            drop_low=min(drop.low, drop.mean - least),
            drop_high=max(drop.high, drop.mean + least),
        )
        return summarise((), alpha=alpha).model_copy(update={"task": task})

    def _run(self, server: CommandServer) -> dict[str, Any]:
        """Return ``score``, ``num_items`` and ``items``, which may be None."""
        ended = run_command(
            self._settings, server.values, server.folder, "accuracy", "the accuracy command"
        )
        try:
            return self._found(ended.output)
        except (NotFoundInOutputError, TypeError, ValueError) as error:
            message = f"the accuracy command printed no score: {error}"
            raise ServerFailedError("accuracy", message) from error

    def _found(self, output: Output) -> dict[str, Any]:
        settings = self._settings
        items: list[float] | None = None
        if settings.items is not None:
            items = [_share(item) for item in output.find(settings.items)]
            number, score = len(items), statistics.fmean(items or [0.0])
        else:
            number = round(output.number(str(settings.num_items)))
            score = _share(output.number(str(settings.score)))
        if number < 2:
            raise NotFoundInOutputError("fewer than two problems give no interval")
        return {"score": score, "num_items": number, "items": items}


def _share(value: Any) -> float:
    number = float(value)
    if not 0.0 <= number <= 1.0:
        raise NotFoundInOutputError(f"{number:g} does not lie between 0 and 1")
    return number


def _moments(found: dict[str, Any]) -> tuple[float, float]:
    """Return a score and its standard error."""
    score, number = float(found["score"]), int(found["num_items"])
    if found["items"] is not None:
        return score, statistics.stdev(found["items"]) / math.sqrt(number)
    return score, math.sqrt(max(score * (1.0 - score), 0.0) / number)
