"""Admission, slots, preemption, streaming interval and stopping."""

import pytest

from arbor.targets.engine.server.scheduler import Scheduler
from arbor.targets.engine.server.sequence import SamplingParameters, Sequence
from arbor.targets.engine.server.settings import ApplicationSettings
from arbor.targets.engine.trace import TraceRequest

from .tiny import Generate, ListSink, MakeEngine, run_trace, step_to_the_end


def _sequence(length: int) -> Sequence:
    return Sequence([1] * length, SamplingParameters(), 10, frozenset(), ListSink())


def test_slots_are_given_lowest_first_and_come_back() -> None:
    scheduler = Scheduler(ApplicationSettings(max_num_seqs=2))
    first, second, third = (_sequence(3) for _ in range(3))
    for sequence in (first, second, third):
        scheduler.add(sequence)
    assert [s.slot for s in scheduler.admit()] == [0, 1]
    assert scheduler.admit() == []
    scheduler.release(first)
    assert scheduler.admit() == [third]
    assert third.slot == 0


@pytest.mark.parametrize(
    ("admission", "order"),
    [("fifo", [9, 2, 5]), ("shortest_first", [2, 5, 9]), ("longest_first", [5, 9, 2])],
)
def test_admission_order(admission: str, order: list[int]) -> None:
    settings = ApplicationSettings(admission=admission)  # type: ignore[arg-type]  # parametrised
    scheduler = Scheduler(settings)
    for length, max_tokens in ((9, 10), (2, 7), (5, 12)):
        scheduler.add(_sequence(length))
        scheduler.waiting[-1].max_tokens = max_tokens
    assert [len(s.tokens) for s in scheduler.admit()] == order


def test_the_youngest_is_preempted_and_waits_first() -> None:
    scheduler = Scheduler(ApplicationSettings(kv_capacity_tokens=256))
    old, young, late = _sequence(120), _sequence(130), _sequence(4)
    for sequence in (old, young, late):
        scheduler.add(sequence)
    assert scheduler.admit() == [old, young]
    old.tokens.extend([1] * 10)
    assert scheduler.preempt() == [young]
    assert list(scheduler.waiting) == [young, late]
    assert scheduler.num_preemptions == 1
    scheduler.running[0].tokens.extend([1] * 500)
    assert scheduler.preempt() == []


@pytest.mark.parametrize("sampler", ["per_sequence", "vectorised"])
def test_preempted_sequences_end_with_the_same_tokens(
    sampler: str,
    make_engine: MakeEngine,
    generate: Generate,
    baseline_tokens: list[list[int]],
    tiny_trace: tuple[TraceRequest, ...],
) -> None:
    # Room for the first four prompts and one token of each, and so not for what they generate.
    capacity = sum(len(request.prompt) + 1 for request in tiny_trace[:4])
    engine = make_engine(
        {
            "application": {
                "kv_capacity_tokens": capacity,
                "decode_batching": True,
                "max_num_seqs": 9,
                "sampler": sampler,
            },
            "framework": {"kv_cache": "preallocated"},
        }
    )
    assert generate(engine) == baseline_tokens
    assert engine.scheduler.num_preemptions > 0


def test_the_stream_interval_gathers_tokens_after_the_first(
    make_engine: MakeEngine, tiny_trace: tuple[TraceRequest, ...]
) -> None:
    sinks = run_trace(make_engine({"application": {"stream_interval": 4}}), tiny_trace)
    for sink, request in zip(sinks, tiny_trace, strict=True):
        assert len(sink.tokens) == request.max_tokens
        assert sink.num_pushes == 1 + -(-(request.max_tokens - 1) // 4)
        assert sink.reason == "length"


def test_a_stop_token_ends_a_sequence(
    make_engine: MakeEngine, baseline_tokens: list[list[int]], tiny_trace: tuple[TraceRequest, ...]
) -> None:
    engine = make_engine()
    expected = baseline_tokens[0]
    sink = ListSink()
    stop = frozenset({expected[2]})
    engine.scheduler.add(
        Sequence(list(tiny_trace[0].prompt), SamplingParameters(), len(expected), stop, sink)
    )
    step_to_the_end(engine)
    assert sink.tokens == expected[: expected.index(expected[2]) + 1]
    assert sink.reason == "stop"


def test_cancelled_sequences_leave(make_engine: MakeEngine) -> None:
    engine = make_engine({"application": {"max_num_seqs": 1}})
    running, waiting = _sequence(5), _sequence(6)
    for sequence in (running, waiting):
        engine.scheduler.add(sequence)
    engine.step()
    running.is_cancelled = waiting.is_cancelled = True
    engine.step()
    assert not engine.scheduler.running
    assert not engine.scheduler.waiting
