"""Every pair was played as planned: order, seeds, numbers, and whether it counts."""

from arbor.actors.pairs import SEED_STRIDE, WINDOW_SEED_STRIDE
from arbor.core.measure.foreign import load_flaw
from arbor.core.state import CampaignState
from arbor.events.evidence import PairMeasured
from arbor.events.requests import MeasurementRequested
from arbor.replay.rules.base import Evidence, Findings

_Series = tuple[str, str | None, str]
"""Request, attempt, guard."""


class PairsWerePlayedAsPlanned:
    """Nobody picks pairs: what counts follows from load, what was played from the request."""

    name = "pairs"
    title = "order, seeds and numbers of pairs follow from the request, validity from their load"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Hold every pair against its request and the pair before it."""
        last: dict[_Series, PairMeasured] = {}
        for recorded, state in evidence.walk():
            event = recorded.event
            if not isinstance(event, PairMeasured):
                continue
            series = (event.request_id, event.attempt_id, event.guard)
            problem = _problem(event, state, last.get(series))
            findings.require(problem is None, recorded.position, problem or "")
            last[series] = event


def _problem(pair: PairMeasured, state: CampaignState, before: PairMeasured | None) -> str | None:
    name = f"pair {pair.pair} of {pair.request_id}"
    request = state.requests.by_id.get(pair.request_id)
    if request is None:
        return f"{name} was asked by nobody"
    if pair.is_candidate_first != (pair.pair % 2 == 1):
        return f"{name} was played in the other order"
    flaw = load_flaw(
        (pair.candidate, *pair.candidate_sweep),
        (pair.incumbent, *pair.incumbent_sweep),
        state.settings.measure.max_foreign_cpu_difference,
    )
    if pair.is_valid != (flaw is None) or pair.flaw != flaw:
        said = "counts" if pair.is_valid else f"does not count ({pair.flaw})"
        return f"{name} {said}, its windows say: {flaw or 'it counts'}"
    return _misnumbered(name, pair, before, request.asked) or _misseeded(name, pair, request.asked)


def _misnumbered(
    name: str, pair: PairMeasured, before: PairMeasured | None, asked: MeasurementRequested
) -> str | None:
    """Return how a pair does not follow the one before it, or None.

    Planned series leave room between their starts, for pairs that did not count.
    """
    is_planned = asked.purpose == "revalidation" or bool(pair.guard)
    if before is None:
        is_first = is_planned or (pair.pair, pair.start) == (1, 1)
        return None if is_first else f"{name} is the first, pairs before it are missing"
    if pair.start not in {before.start, before.start + 1}:
        return f"{name} is of start {pair.start}, the one before it of {before.start}"
    is_next = pair.pair == before.pair + 1
    if is_next or (is_planned and pair.start > before.start and pair.pair > before.pair):
        return None
    return f"{name} follows number {before.pair}"


def _misseeded(name: str, pair: PairMeasured, asked: MeasurementRequested) -> str | None:
    """Return how the seeds of windows differ from those that the request gives, or None."""
    own = [window.seed for window in (pair.candidate, *pair.candidate_sweep)]
    other = [window.seed for window in (pair.incumbent, *pair.incumbent_sweep)]
    if not any((*own, *other)):
        # The target does not say with which seed it played.
        return None
    seed = asked.seed + SEED_STRIDE * pair.pair
    num_loads = len(other)
    repeats = range(len(own) // num_loads)
    expected = [seed + WINDOW_SEED_STRIDE * repeat for repeat in repeats for _ in range(num_loads)]
    if other != [seed] * num_loads or own != expected:
        return f"{name} was played with seeds {own} and {other}, the request gives {seed}"
    return None
