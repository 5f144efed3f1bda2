"""The best configuration of a surface, as the yardstick of tests and benchmarks."""

import math
from collections.abc import Callable, Mapping

from arbor.events.types import Scalar
from arbor.targets.landscape_samples import random_stream
from arbor.targets.landscape_surface import Surface

_NUM_RESTARTS = 24


def best_config(surface: Surface, max_kl: float = math.inf) -> dict[str, Scalar]:
    """Return the best configuration found by climbing over single and paired changes.

    Climbs from the baseline and from random configurations; numbers stand at their optimum. Not
    proven to be the best, but on surfaces small enough to enumerate it nearly always is.
    """

    def worth(config: Mapping[str, Scalar]) -> float:
        is_allowed = surface.crash(config) is None and surface.kl(config) <= max_kl
        return surface.true_ratio(config) if is_allowed else 0.0

    baseline = surface.baseline()
    tuned = dict(baseline)
    for number in surface.numbers:
        tuned[number.key] = number.typed(min(max(number.optimum, number.low), number.high))
    start = tuned if worth(tuned) >= worth(baseline) else baseline
    stream = random_stream("best", len(surface.switches))
    starts = [start]
    for _ in range(_NUM_RESTARTS):
        chosen = {s.key: stream.choice((s.baseline, s.value)) for s in surface.switches}
        starts.append(start | chosen)
    return max((_climb(surface, each, worth) for each in starts), key=worth)


def _climb(
    surface: Surface, start: Mapping[str, Scalar], worth: Callable[[Mapping[str, Scalar]], float]
) -> dict[str, Scalar]:
    best, top = dict(start), worth(start)
    flips = [(switch.key, switch.value, switch.baseline) for switch in surface.switches]
    improved = True
    while improved:
        improved = False
        for i, first in enumerate(flips):
            # a pair of the same flip is a single change
            for second in flips[i:]:
                changed = dict(best)
                for key, value, baseline in {first, second}:
                    changed[key] = baseline if best[key] == value else value
                if (reached := worth(changed)) > top * (1 + 1e-9):
                    best, top, improved = changed, reached, True
    return best
