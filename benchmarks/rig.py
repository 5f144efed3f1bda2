"""Two servers of a landscape that play pairs of windows, without a campaign around them."""

import math
from collections.abc import Mapping
from pathlib import Path

from arbor.core.measure.interval import Series
from arbor.core.measure.sequential import decide
from arbor.events.settings import MeasureSettings
from arbor.events.types import Scalar, SeriesPlan, WindowSample
from arbor.targets.landscape import LandscapeServer, LandscapeTarget
from arbor.targets.landscape_config import LandscapeConfig

Config = Mapping[str, Scalar]

FIRST_START = 10_000
"""Numbers of server starts here, beyond those of any campaign: noise depends on them."""
MAX_DIFFERENCE = MeasureSettings().max_foreign_cpu_difference


class Rig:
    """Plays pairs of a candidate and an incumbent.

    Attributes:
        seconds: virtual time of the windows and starts so far.
        pair_sd: true deviation of a pair's log ratio, outliers aside.
    """

    def __init__(
        self,
        landscape: LandscapeConfig,
        candidate: Config,
        incumbent: Config,
        seed: int,
        added: float = 0.0,
    ) -> None:
        self.seconds = 0.0
        self.pair_sd = math.sqrt(2.0) * landscape.noise.window_sd
        self._landscape = landscape
        self._target = LandscapeTarget(landscape.model_copy(update={"time_scale": 0.0}))
        self._configs = dict(candidate), dict(incumbent)
        # As in a campaign, a window lasts equally long on every incumbent.
        speed = self._target.surface.true_ratio(incumbent)
        unit = self._target.default_num_requests()
        self._num_requests = unit * max(1, round(speed))
        self._added = added
        self._seed = seed
        self._num_pairs = 0
        self._num_starts = 0
        self.restart()

    def restart(self) -> None:
        """Start both servers afresh."""
        first = FIRST_START * (1 + self._seed) + 2 * self._num_starts
        self._servers = [
            LandscapeServer(self._target.surface, config, Path("/dev/null"), first + arm)
            for arm, config in enumerate(self._configs)
        ]
        self._num_starts += 1
        self.seconds += 2 * self._landscape.start_s

    def pair(self) -> tuple[float, bool]:
        """Return the log ratio of a pair, and whether both arms saw the same load."""
        self._num_pairs += 1
        arms = (0, 1) if self._num_pairs % 2 else (1, 0)
        windows: dict[int, WindowSample] = {}
        for arm in arms:
            seed = self._seed * 1009 + self._num_pairs
            windows[arm] = self._target.benchmark(self._servers[arm], seed, self._num_requests)
            self.seconds += windows[arm].duration_s
        log_ratio = math.log(windows[0].throughput_tok_s / windows[1].throughput_tok_s)
        load = [windows[arm].foreign_cpu_ratio or 0.0 for arm in (0, 1)]
        return log_ratio + self._added, abs(load[0] - load[1]) <= MAX_DIFFERENCE

    def valid_pairs(self, num: int) -> list[float]:
        """Return the log ratios of some valid pairs; others are played again."""
        values: list[float] = []
        while len(values) < num:
            value, is_valid = self.pair()
            values += [value] if is_valid else []
        return values


def play(rig: Rig, plan: SeriesPlan) -> Series:
    """Return a series as the bench plays it."""
    starts: list[list[float]] = [[]]
    for _ in range(plan.max_pairs * 3 // 2):
        value, is_valid = rig.pair()
        if not is_valid:
            continue
        starts[-1].append(value)
        then = decide(Series.of(*starts), plan)
        if then == "restart":
            rig.restart()
            starts.append([])
        elif then is not None:
            break
    return Series.of(*starts)
