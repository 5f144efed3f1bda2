"""The accuracy of a server: log-probabilities first, then a task where one is configured."""

from collections.abc import Mapping
from pathlib import Path

from arbor.core.accuracy import Gate, violations
from arbor.events.types import AccuracySample, TaskScore
from arbor.targets.vllm.accuracy import AccuracyCheck
from arbor.targets.vllm.config import VllmTargetConfig
from arbor.targets.vllm.lm_eval import compare, measure_task
from arbor.targets.vllm.server import VllmServer
from arbor.targets.vllm.windows import Windows

_ALPHA = 0.05


class AccuracyRun:
    """Takes references and compares servers with them; one for all servers of a target.

    Args:
        config: how much is compared.
        windows: draws prompts in the model's tokens.
        tokeniser: folder with the model's tokeniser.
        programs: folder of the programs of vLLM's environment.
        env: environment of the task's program.
    """

    def __init__(
        self,
        config: VllmTargetConfig,
        windows: Windows,
        tokeniser: Path,
        programs: Path,
        env: Mapping[str, str],
    ) -> None:
        self._config = config
        self._windows = windows
        self._tokeniser = tokeniser
        self._programs = programs
        self._env = dict(env)
        self._check: AccuracyCheck | None = None

    def reference(self, server: VllmServer) -> bytes:
        """Return the baseline's answers to the fixed prompts, and its score of the task.

        Raises:
            ServerFailedError: the server failed or hung, or the task gave no score.
        """
        task = self._task(server)
        return self._checked(server).reference(server, task)

    def accuracy(self, server: VllmServer, reference: bytes, gate: Gate | None) -> AccuracySample:
        """Return the distances from a reference; the task comes last, and not after a failure.

        Raises:
            InvalidInputError: the reference was taken with other prompts.
            ServerFailedError: the server failed or hung, or the task gave no score.
        """
        check = self._checked(server)
        sample = check.accuracy(server, reference, gate)
        baseline = check.baseline_task(reference)
        if baseline is None or (gate is not None and violations(sample, gate)):
            return sample
        found = self._task(server)
        if found is None:
            return sample
        alpha = _ALPHA if gate is None else gate.settings.alpha
        return sample.model_copy(update={"task": compare(baseline, found, alpha)})

    def _task(self, server: VllmServer) -> TaskScore | None:
        settings = self._config.lm_eval
        if settings is None:
            return None
        executable = settings.executable or self._programs / "lm_eval"
        return measure_task(server, settings, executable, self._env, self._tokeniser)

    def _checked(self, server: VllmServer) -> AccuracyCheck:
        """Return the check with its prompts, which are the same for every server."""
        if self._check is None:
            self._check = AccuracyCheck(
                self._config.check,
                self._windows.source(server, self._config.check.dataset),
                self._max_length(),
                self._config.workload.concurrency,
            )
        return self._check

    def _max_length(self) -> int | None:
        """Return the longest sequence of the baseline, as its option or its model says."""
        told = self._config.args.get("max-model-len")
        if isinstance(told, int) and not isinstance(told, bool):
            return told
        return self._windows.model.max_positions
