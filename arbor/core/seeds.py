"""Seeds of a log's windows, and fresh ones that no window was played with."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import count

from arbor.events.base import Recorded
from arbor.events.evidence import PairMeasured
from arbor.events.requests import MeasurementRequested


@dataclass(slots=True)
class SeedsSeen:
    """Fold of every seed that a log names, those of attempts that were lost included."""

    seeds: set[int] = field(default_factory=set)

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        event = recorded.event
        if isinstance(event, MeasurementRequested):
            self.seeds.add(event.seed)
        elif isinstance(event, PairMeasured):
            windows = (
                event.candidate,
                event.incumbent,
                *event.candidate_sweep,
                *event.incumbent_sweep,
            )
            self.seeds |= {window.seed for window in windows}


def fresh_seeds(used: Collection[int], seed: int, stride: int) -> Iterator[int]:
    """Yield ``seed`` and every ``stride``-th number after it, without those that were used."""
    return (each for each in count(seed, stride) if each not in used)
