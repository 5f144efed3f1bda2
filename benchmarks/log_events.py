"""The events that benchmarks of the log append: what a search at full strength says most."""

import random
from collections.abc import Iterator
from itertools import count, islice

from arbor.events.base import Draft, Event
from arbor.events.choice import ActionScored
from arbor.events.encoding import Batch
from arbor.events.ids import uuid7
from arbor.events.ledger import utc_now
from arbor.events.money import BudgetReserved, BudgetSpent
from arbor.events.types import Edit, ScoreTerms
from arbor.events.work import TrialMeasured

TRIALS_PER_ACTION = 24
CLOCK_EVERY = 64
"""Events that share a look at the clock, as those of one append do."""


def search_events(seed: int) -> Iterator[Event]:
    """Yield events without end: budget, trial, budget, and now and then a score.

    Every number is drawn anew, so that nothing compresses better than in a campaign.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    for number in count():
        action_id = f"a{seed:02d}{number // TRIALS_PER_ACTION:06d}"
        trial = number % TRIALS_PER_ACTION + 1
        reservation = f"{action_id}-{trial}"
        if trial == 1:
            yield _score(action_id, chance)
        yield BudgetReserved(
            action_id=action_id, reservation_id=reservation, wall_ms=chance.randrange(60_000)
        )
        yield TrialMeasured(
            action_id=action_id,
            attempt_id=f"{action_id}-1",
            trial=trial,
            edits=(
                Edit(key="scheduler.max_num_seqs", value=chance.randrange(1, 512)),
                Edit(key="scheduler.max_num_batched_tokens", value=chance.randrange(1, 65_536)),
            ),
            throughput_tok_s=chance.lognormvariate(7.0, 0.3),
            engine="tpe",
        )
        yield BudgetSpent(
            action_id=action_id, reservation_id=reservation, wall_ms=chance.randrange(60_000)
        )


def _score(action_id: str, chance: random.Random) -> ActionScored:
    terms = ScoreTerms(
        share_ratio=chance.random(),
        speedup_ratio=1.0 + chance.random(),
        cost_ratio=chance.random(),
        accuracy_risk_ratio=0.05,
        crash_risk_ratio=0.1,
        gap_ratio=1.0,
        num_tries=chance.randrange(100),
        num_category_tries=chance.randrange(10),
        exploration=chance.random(),
    )
    return ActionScored(
        action_id=action_id, node_id="n001", form="risk_averse", score=chance.random(), terms=terms
    )


def drafts(seed: int, actor: str = "bench") -> Iterator[Draft]:
    """Yield the same events as drafts of an actor, with new ids every time."""
    events = search_events(seed)
    while True:
        now = utc_now()
        for event in islice(events, CLOCK_EVERY):
            yield Draft(event, uuid7(now), actor)


def batches(seed: int, num_events: int, size: int) -> Iterator[Batch]:
    """Yield batches that are encoded already, as a producer hands them to the keeper."""
    stream = drafts(seed)
    while num_events > 0:
        part = list(islice(stream, min(size, num_events)))
        num_events -= len(part)
        yield Batch.encode(part, None)
