"""What every event log must do; subclasses give a ``make_log`` fixture."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count

import pytest

from arbor.events.base import (
    SCHEMA_VERSION,
    Condition,
    Draft,
    Event,
    Recorded,
    payload_json,
    timestamp_us,
)
from arbor.events.choice import ActionProposed, ActionScored, ActionWithdrawn
from arbor.events.errors import ConflictError, FencedError, InvalidInputError, LogError
from arbor.events.ids import uuid7
from arbor.events.ledger import Clock
from arbor.events.life import IncarnationStarted
from arbor.events.log import GENESIS_DIGEST, EventLog, Head
from arbor.events.types import ScoreTerms
from arbor.events.work import TrialMeasured

START = datetime(2026, 1, 1, tzinfo=UTC)
TRIAL = TrialMeasured(trial=1, edits=(), throughput_tok_s=1.0, engine="random")
MakeLog = Callable[[Clock], EventLog]


def proposed(action: int, reason: str = "because") -> ActionProposed:
    """Return an event with the tags ``action:a<n>`` and ``template:t``."""
    return ActionProposed(action_id=f"a{action}", template_id="t", node_id="n0", reason=reason)


def draft(number: int, event: Event | None = None, *, incarnation: int = 0) -> Draft:
    """Return a draft whose id depends on its number only."""
    return Draft(
        event=event or proposed(number),
        event_id=uuid7(START, random_bits=number),
        actor="orchestrator",
        incarnation=incarnation,
    )


def started(number: int, incarnation: int, actor: str = "orchestrator") -> Draft:
    """Return the announcement of an incarnation."""
    event = IncarnationStarted(process_id=1, host="h")
    return Draft(event, uuid7(START, random_bits=number), actor, incarnation)


def canonical(recorded: Recorded) -> bytes:
    """Return the line of an event that docs/design/log.md describes, written down once more."""
    fields = (
        recorded.position,
        recorded.event_id,
        timestamp_us(recorded.recorded_at),
        recorded.campaign_id,
        recorded.actor,
        recorded.incarnation,
        recorded.epoch,
        recorded.decided_after,
        timestamp_us(recorded.decided_at),
        recorded.schema_version,
        "\x1f".join(sorted(recorded.event.tags())),
        payload_json(recorded.event),
    )
    return "".join(f"{'' if each is None else each}\t" for each in fields).encode() + b"\n"


class SteppingClock:
    """Moves by one second with every look, or back when told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Unregistered(Event):
    """An event that nobody can read."""


class EventLogContract:
    """Runs against every implementation of ``EventLog``."""

    @pytest.fixture
    def log(self, make_log: MakeLog) -> EventLog:
        return make_log(SteppingClock())

    def test_is_an_event_log(self, log: EventLog) -> None:
        assert isinstance(log, EventLog)

    def test_starts_empty(self, log: EventLog) -> None:
        assert log.head() == Head(0, GENESIS_DIGEST)
        assert list(log.read()) == []
        assert not log.wait_beyond(0, timeout_s=0)

    def test_gives_back_what_was_appended(self, make_log: MakeLog) -> None:
        clock = SteppingClock()
        log = make_log(clock)
        event = ActionProposed(
            action_id="a1",
            attempt_id="a1-1",
            causation_id="e",
            template_id="t",
            node_id="n0",
            reason='naïve "quotes", \n\t\\ and 日本語 🙂 \x00',
        )
        decided_at = datetime(2026, 1, 1, 14, 0, 0, 123456, tzinfo=UTC)
        sent = Draft(event, uuid7(START, 7), "orchestrator", 3, 0, decided_at)
        assert log.append([sent]) == (1,)
        (found,) = log.read()
        assert found.event == event
        assert (found.position, found.event_id, found.actor) == (1, sent.event_id, "orchestrator")
        assert (found.incarnation, found.epoch) == (3, 1)
        assert (found.decided_after, found.decided_at) == (0, decided_at)
        assert (found.recorded_at, found.campaign_id) == (clock.now, "c1")
        assert found.schema_version == SCHEMA_VERSION

    def test_keeps_numbers_exact(self, log: EventLog) -> None:
        terms = ScoreTerms(
            share_ratio=0.1 + 0.2,
            speedup_ratio=1e-308,
            cost_ratio=1e308,
            accuracy_risk_ratio=-0.0,
            crash_risk_ratio=1 / 3,
            gap_ratio=2.0,
            num_tries=2**62,
            num_category_tries=0,
            exploration=5e-324,
        )
        event = ActionScored(node_id="n", form="as_printed", score=1e16, terms=terms)
        log.append([draft(1, event)])
        assert [each.event for each in log.read()] == [event]

    def test_reads_a_range(self, log: EventLog) -> None:
        for number in range(1, 6):
            log.append([draft(10 * number), draft(10 * number + 1)])
        assert [each.position for each in log.read(after=3)] == list(range(4, 11))
        assert [each.position for each in log.read(after=4, limit=3)] == [5, 6, 7]
        assert [each.position for each in log.read(limit=0)] == []
        assert list(log.read(after=10)) == []
        assert list(log.read(after=99)) == []

    def test_an_empty_append_is_nothing(self, log: EventLog) -> None:
        assert log.append([]) == ()
        assert log.head().position == 0

    def test_refuses_when_a_tag_moved(self, log: EventLog) -> None:
        log.append([draft(1), draft(2)])
        with pytest.raises(ConflictError) as caught:
            log.append([draft(3), draft(4)], Condition(1, frozenset({"action:a2", "action:a9"})))
        assert (caught.value.tag, caught.value.position) == ("action:a2", 2)
        assert log.head().position == 2

    def test_accepts_when_other_tags_moved(self, log: EventLog) -> None:
        log.append([draft(1), draft(2)])
        assert log.append([draft(3)], Condition(1, frozenset({"action:a1", "node:n9"}))) == (3,)
        assert log.append([draft(4)], Condition(0, frozenset())) == (4,)

    def test_a_batch_does_not_conflict_with_itself(self, log: EventLog) -> None:
        condition = Condition(0, frozenset({"template:t"}))
        assert log.append([draft(1), draft(2)], condition) == (1, 2)

    def test_stores_a_repeated_id_once(self, log: EventLog) -> None:
        first = log.append([draft(1), draft(2)])
        blocked = Condition(0, frozenset({"template:t"}))
        assert log.append([draft(1), draft(2)], blocked) == first
        assert log.append([draft(2), draft(3), draft(3)]) == (2, 3, 3)
        with pytest.raises(ConflictError):
            log.append([draft(3), draft(4)], blocked)
        assert [each.event_id for each in log.read()] == [draft(n).event_id for n in (1, 2, 3)]

    def test_fences_older_incarnations(self, log: EventLog) -> None:
        log.append([started(1, incarnation=1), draft(2, incarnation=1)])
        log.append([started(3, incarnation=2)])
        with pytest.raises(FencedError, match="incarnation 1 must stop"):
            log.append([draft(4, incarnation=1)])
        with pytest.raises(FencedError):
            log.append([started(5, incarnation=1)])
        assert log.append([draft(2, incarnation=1)]) == (2,), "it is stored already"
        assert log.append([draft(6, incarnation=2), draft(7, incarnation=3)]) == (4, 5)
        assert log.append([draft(8)]) == (6,), "incarnation 0 is never fenced"
        assert log.append([started(9, incarnation=1, actor="critic")]) == (7,)

    def test_fences_inside_a_batch(self, log: EventLog) -> None:
        with pytest.raises(FencedError):
            log.append([started(1, incarnation=2), draft(2, incarnation=1)])
        assert log.append([draft(3, incarnation=1)]) == (1,), "the refused batch left nothing"

    @pytest.mark.parametrize(
        "bad",
        [
            draft(2, proposed(2, "\ud800")),
            draft(2, proposed(2).model_copy(update={"template_id": None})),
            draft(2, TRIAL.model_copy(update={"throughput_tok_s": float("nan")})),
            draft(2, Unregistered(kind="Unregistered")),
            draft(2, incarnation=2**63),
            replace(draft(2), actor="\udcff"),
            replace(draft(2), actor="a\tb"),
            replace(draft(2), decided_at=START.replace(tzinfo=None)),
        ],
        ids=["surrogate", "schema", "NaN", "kind", "number", "actor", "tab", "time zone"],
    )
    @pytest.mark.filterwarnings("ignore:Pydantic serializer")
    def test_refuses_what_could_not_be_read_again(self, log: EventLog, bad: Draft) -> None:
        with pytest.raises(InvalidInputError, match=r"\w+\) cannot be stored: .*") as caught:
            log.append([draft(1), bad])
        assert "\n" not in str(caught.value)
        assert log.append([draft(1)]) == (1,)

    def test_time_never_runs_backwards(self, make_log: MakeLog) -> None:
        clock = SteppingClock()
        log = make_log(clock)
        log.append([draft(1)])
        clock.now -= timedelta(hours=1)
        log.append([draft(2)])
        first, second = log.read()
        assert second.recorded_at == first.recorded_at

    def test_the_head_chains_every_commit(self, log: EventLog) -> None:
        digest = bytes(32)
        for batch in ([draft(1), draft(2)], [draft(3)]):
            before = log.head().position
            log.append(batch)
            content = b"".join(canonical(each) for each in log.read(before))
            digest = sha256(digest + content).digest()
            assert log.head() == Head(before + len(batch), digest.hex())

    def test_wakes_who_waits(self, log: EventLog) -> None:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(log.wait_beyond, 1, 30)
            log.append([draft(1)])
            assert not waiting.done()
            log.append([draft(2)])
            assert waiting.result(30)
        assert log.wait_beyond(1, timeout_s=0)

    def test_closes_twice_and_still_reads(self, log: EventLog) -> None:
        log.append([draft(1)])
        log.close()
        log.close()
        with pytest.raises(LogError, match="closed"):
            log.append([draft(2)])
        assert [each.position for each in log.read()] == [1]

    def test_threads_append_together(self, log: EventLog) -> None:
        num_threads, num_batches = 8, 20
        barrier = threading.Barrier(num_threads)

        def work(thread: int) -> list[tuple[int, ...]]:
            barrier.wait()
            numbers = range(thread * 1000, thread * 1000 + num_batches * 2, 2)
            return [log.append([draft(n), draft(n + 1)]) for n in numbers]

        with ThreadPoolExecutor(num_threads) as pool:
            results = list(pool.map(work, range(num_threads)))
        given = [position for each in results for batch in each for position in batch]
        assert sorted(given) == list(range(1, num_threads * num_batches * 2 + 1))
        events = list(log.read())
        assert [each.position for each in events] == sorted(given)
        for thread, each in enumerate(results):
            assert each == sorted(each), "a thread's appends keep their order"
            for at, (first, second) in enumerate(each):
                assert second == first + 1, "a batch stays together"
                expected = draft(thread * 1000 + at * 2).event_id
                assert events[first - 1].event_id == expected

    def test_conditions_lose_no_update(self, log: EventLog) -> None:
        """Threads count in the log: each number follows from what was read before."""
        num_threads, num_turns = 6, 8
        tags = frozenset({"action:counter"})

        def work(thread: int) -> None:
            tries = count(thread * 10_000)
            for _ in range(num_turns):
                while True:
                    seen = len(list(log.read()))
                    event = ActionWithdrawn(action_id="counter", reason=str(seen))
                    with suppress(ConflictError):
                        log.append([draft(next(tries), event)], Condition(seen, tags))
                        break

        with ThreadPoolExecutor(num_threads) as pool:
            list(pool.map(work, range(num_threads)))
        reasons = [
            each.event.reason for each in log.read() if isinstance(each.event, ActionWithdrawn)
        ]
        assert reasons == [str(n) for n in range(num_threads * num_turns)]
