"""The ``landscape`` target: a declared surface behind the interface of a real stack."""

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from arbor.core.accuracy import Gate
from arbor.events.errors import InvalidInputError
from arbor.events.types import (
    AccuracySample,
    ActionTemplate,
    CategoryShare,
    Counter,
    Hardware,
    Load,
    Profile,
    Scalar,
    WindowSample,
)
from arbor.targets.base import STANDARD_LOAD, FlatConfig, Server, ServerFailedError
from arbor.targets.devices import num_visible
from arbor.targets.landscape_accuracy import landscape_accuracy
from arbor.targets.landscape_catalog import landscape_catalog, used_counter
from arbor.targets.landscape_config import LandscapeConfig
from arbor.targets.landscape_samples import random_stream
from arbor.targets.landscape_surface import Phase, Surface
from arbor.targets.serve_yaml import CONFIG_FILE, dump_config, load_config

__all__ = ["LandscapeConfig", "LandscapeServer", "LandscapeTarget"]

_INPUT_TOKENS = 48
_OUTPUT_TOKENS = 32
"""Tokens of one request."""
_CONCURRENCY = 16


class LandscapeServer:
    """A started configuration of a landscape; lives in the process that started it.

    Attributes:
        config: flat configuration that the worktree holds.
        start: number of this start, which its noise depends on.
        num_windows: windows played so far.
    """

    def __init__(
        self, surface: Surface, config: dict[str, Scalar], log_path: Path, start: int
    ) -> None:
        self.config = config
        self.start = start
        self.num_windows = 0
        self.is_running = True
        self._surface = surface
        self._log_path = log_path

    def resolved_config(self) -> dict[str, Scalar]:
        """Return the configuration in effect; dead switches stand where they stood.

        Raises:
            ServerFailedError: the server has ended.
        """
        self.check("start", alive_only=True)
        dead = {switch.key: switch.baseline for switch in self._surface.switches if switch.is_dead}
        return self.config | dead

    def check(self, phase: Phase, *, alive_only: bool = False) -> None:
        """Crash if this is the phase in which the configuration does.

        Raises:
            ServerFailedError: the server crashes now, or has ended before.
        """
        if not self.is_running:
            raise ServerFailedError(phase, "the server has ended", log_tail=self._log_tail())
        crash = None if alive_only else self._surface.crash(self.config)
        if crash is None or crash.phase != phase:
            return
        self.is_running = False
        with self._log_path.open("a") as log:
            log.writelines(f"{line}\n" for line in crash.log)
        raise ServerFailedError(
            phase, crash.message, crash.exit_code, crash.signal, self._log_tail()
        )

    def _log_tail(self) -> tuple[str, ...]:
        return tuple(self._log_path.read_text().splitlines()[-40:])


class LandscapeTarget:
    """Implements ``Target`` over a surface, in virtual time.

    Attributes:
        config: what it was made from.
        surface: the truth, which only tests and benchmarks may look at.
    """

    name = "landscape"

    def __init__(
        self, config: LandscapeConfig, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.config = config
        self.surface = config.resolved_surface()
        self._sleep = sleep
        self._elapsed_s = 0.0
        self._num_starts = 0

    def check(self, hardware: Hardware) -> None:
        """Nothing can be missing: the surface is declared."""

    def create_workspace(self, path: Path) -> None:
        """Write the baseline's configuration."""
        (path / CONFIG_FILE).write_bytes(dump_config(self.baseline_config()))

    def baseline_config(self) -> dict[str, Scalar]:
        """Return the configuration with every switch off."""
        return self.surface.baseline()

    def actions(self, hardware: Hardware) -> Sequence[ActionTemplate]:  # noqa: ARG002 - any machine
        """Return one action for each switch and number."""
        return landscape_catalog(self.config, self.surface)

    def num_devices(self, config: FlatConfig) -> int:  # noqa: ARG002 - the same for all
        """Return the accelerators that a server wants to see."""
        return self.config.num_devices

    @contextmanager
    def serve(self, worktree: Path, log_path: Path) -> Iterator[LandscapeServer]:
        """Start the configuration of a worktree.

        Raises:
            ServerFailedError: the configuration crashes at its start or cannot be read.
        """
        log_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            config = load_config((worktree / CONFIG_FILE).read_text())
        except (InvalidInputError, OSError) as error:
            log_path.write_text(f"landscape: {error}\n")
            raise ServerFailedError("start", str(error), 2, log_tail=(str(error),)) from error
        log_path.write_text(f"landscape: serving {len(config)} options\n")
        self._require_devices()
        self._num_starts += 1
        server = LandscapeServer(self.surface, config, log_path, self._num_starts)
        self._pass(self.config.start_s)
        server.check("start")
        try:
            yield server
        finally:
            server.is_running = False

    def _require_devices(self) -> None:
        """Check the mask as a real server would notice it.

        Raises:
            ServerFailedError: it shows another number of devices than a server takes.
        """
        wanted, seen = self.config.num_devices, num_visible(os.environ)
        if wanted and seen != wanted:
            shown = "no mask" if seen is None else f"{seen}"
            raise ServerFailedError("start", f"the server takes {wanted} devices and sees {shown}")

    def warmup(self, server: Server, seed: int) -> None:  # noqa: ARG002 - nothing is lazy here
        """Check that the server lives.

        Raises:
            ServerFailedError: the server has ended.
        """
        _own(server).check("start", alive_only=True)

    def profile(self, server: Server, seed: int) -> Profile:
        """Return the shares of the categories, with a little noise.

        Raises:
            ServerFailedError: the configuration crashes under the profiler.
        """
        own = _own(server)
        own.check("profile")
        stream = random_stream("profile", self.config.seed, seed)
        shares = {
            category: share * math.exp(stream.gauss(0.0, self.config.noise.window_sd))
            for category, share in self.surface.shares(own.config).items()
        }
        total = math.fsum(shares.values())
        self._pass(self.config.window_s)
        return Profile(
            shares=tuple(
                CategoryShare(category=category, share_ratio=min(share / total, 1.0))
                for category, share in shares.items()
            ),
            window_s=self.config.window_s,
            source="landscape",
        )

    def workloads(self) -> Sequence[str]:
        """Return the workloads that switches declare an effect on."""
        return sorted({name for s in self.surface.switches for name in s.workload_log_gains})

    def benchmark(
        self, server: Server, seed: int, num_requests: int, load: Load = STANDARD_LOAD
    ) -> WindowSample:
        """Play one window.

        Raises:
            ServerFailedError: the configuration crashes under load.
        """
        own = _own(server)
        own.check("benchmark")
        own.num_windows += 1
        log_noise, foreign = self._noise(own, seed)
        throughput = self.config.throughput_tok_s * self.surface.true_ratio(own.config)
        throughput *= math.exp(log_noise + self._workload_log_gain(own, load.workload))
        concurrency = load.concurrency or self.default_concurrency()
        throughput *= _saturation(concurrency) / _saturation(self.default_concurrency())
        tpot_ms = 1000.0 * concurrency / throughput
        num_tokens = num_requests * _OUTPUT_TOKENS
        duration_s = num_tokens / throughput
        self._pass(duration_s)
        on = self.surface.names_on(own.config)
        live = [switch for switch in self.surface.switches if switch.name in on]
        lossy = sorted(switch.name for switch in live if switch.kl > 0)
        answers = json.dumps([self.config.seed, seed, num_requests, lossy])
        return WindowSample(
            num_completed=num_requests,
            num_failed=0,
            num_input_tokens=num_requests * _INPUT_TOKENS,
            num_output_tokens=num_tokens,
            duration_s=duration_s,
            throughput_tok_s=throughput,
            ttft_ms_p50=2.0 * tpot_ms,
            ttft_ms_p99=4.0 * tpot_ms,
            tpot_ms_p50=tpot_ms,
            tpot_ms_p99=1.5 * tpot_ms,
            num_planned_requests=num_requests,
            num_planned_input_tokens=num_requests * _INPUT_TOKENS,
            num_planned_output_tokens=num_tokens,
            server_cpu_s=duration_s,
            client_cpu_s=0.0,
            foreign_cpu_ratio=foreign,
            output_digest=hashlib.sha256(answers.encode()).hexdigest(),
            seed=seed,
            counters=(
                Counter(key="requests", value=num_requests),
                *(Counter(key=used_counter(switch), value=num_tokens) for switch in live),
            ),
        )

    def reference(self, server: Server) -> bytes:
        """Return the distance of a server from the baseline.

        Raises:
            ServerFailedError: the configuration crashes in the accuracy check.
        """
        own = _own(server)
        own.check("accuracy")
        return json.dumps({"kl": self.surface.kl(own.config)}).encode()

    def accuracy(
        self,
        server: Server,
        reference: bytes,
        gate: Gate | None = None,  # noqa: ARG002 - everything costs nothing here
    ) -> AccuracySample:
        """Return the distance of a server from a reference.

        Raises:
            ServerFailedError: the configuration crashes in the accuracy check.
        """
        kl = abs(json.loads(self.reference(server))["kl"] - json.loads(reference)["kl"])
        self._pass(self.config.window_s / 4)
        return landscape_accuracy(kl)

    def default_num_requests(self) -> int:
        """Return the requests of a window of ``window_s`` on the baseline."""
        return max(round(self.config.window_s * self.config.throughput_tok_s / _OUTPUT_TOKENS), 1)

    def default_concurrency(self) -> int:
        """Return the concurrency that the baseline's throughput is declared for."""
        return _CONCURRENCY

    def rss_bytes(self, server: Server) -> int | None:  # noqa: ARG002 - it has no process
        """Return None: nothing runs."""
        return None

    def _workload_log_gain(self, server: LandscapeServer, workload: str) -> float:
        if not workload:
            return 0.0
        on = self.surface.names_on(server.config)
        switches = (s for s in self.surface.switches if s.name in on)
        return math.fsum(s.workload_log_gains.get(workload, 0.0) for s in switches)

    def _pass(self, duration_s: float) -> None:
        self._elapsed_s += duration_s
        if self.config.time_scale > 0:
            self._sleep(duration_s * self.config.time_scale)

    def _noise(self, server: LandscapeServer, seed: int) -> tuple[float, float]:
        """Return the log noise of a window and the foreign share of the processor in it."""
        noise = self.config.noise
        key = (self.config.seed, server.start, sorted(server.config.items()))
        bias = random_stream("start", *key).gauss(0.0, noise.start_sd)
        stream = random_stream("window", *key, server.num_windows, seed)
        turn = 2.0 * math.pi * self._elapsed_s / noise.drift_period_s
        log_noise = bias + stream.gauss(0.0, noise.window_sd) + noise.drift * math.sin(turn)
        if stream.random() < noise.outlier_ratio:
            return log_noise - noise.outlier_log_loss, noise.outlier_foreign_cpu_ratio
        return log_noise, 0.0


def _saturation(concurrency: int) -> float:
    """Return the throughput at a concurrency over that at an unlimited one."""
    return concurrency / (concurrency + 8.0)


def _own(server: Server) -> LandscapeServer:
    if not isinstance(server, LandscapeServer):
        raise TypeError(f"{type(server).__name__} was not started by the landscape target")
    return server
