"""Fresh seeds are those that no window of the log was played with."""

from itertools import islice

from arbor.core.seeds import SeedsSeen, fresh_seeds
from arbor.events.base import Recorded
from arbor.events.evidence import PairMeasured
from tests.fakes.simulation import Simulation


def test_all_seeds_of_a_log_are_seen(
    eventful: Simulation, eventful_log: tuple[Recorded, ...]
) -> None:
    seen = SeedsSeen()
    for recorded in eventful_log:
        seen.apply(recorded)
    pairs = eventful.of_kind(PairMeasured)
    assert {pair.candidate.seed for pair in pairs} <= seen.seeds
    assert len(seen.seeds) > len(pairs) / 2


def test_used_seeds_are_left_out() -> None:
    assert list(islice(fresh_seeds({3, 13}, 3, 5), 3)) == [8, 18, 23]
