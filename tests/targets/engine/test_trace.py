"""Traces: seeded, of equal work, and with the promised mix."""

import dataclasses
import itertools
import random
from dataclasses import replace

import numpy as np

from arbor.targets.engine.trace import SHARED_PREFIX_TOKENS, build_trace, shared_prefix_tokens


def test_a_seed_repeats_and_seeds_differ_in_tokens_only() -> None:
    one, again, other = build_trace(1), build_trace(1), build_trace(2)
    assert one == again
    assert {r.prompt for r in one}.isdisjoint({r.prompt for r in other})
    shape = [(len(r.prompt), r.max_tokens, r.temperature, r.repetition_penalty) for r in one]
    assert shape == [
        (len(r.prompt), r.max_tokens, r.temperature, r.repetition_penalty) for r in other
    ]


def test_the_mix() -> None:
    trace = build_trace(0, num_requests=24)
    prefix = trace[0].prompt[:SHARED_PREFIX_TOKENS]
    assert sum(r.prompt[:SHARED_PREFIX_TOKENS] == prefix for r in trace) == 16
    assert sum(r.temperature == 0.0 for r in trace) == 12
    assert sum(r.repetition_penalty != 1.0 for r in trace) == 6
    assert len({r.max_tokens for r in trace}) > 5
    assert all(len(r.prompt) + r.max_tokens <= 1024 for r in trace)


def test_a_shortened_request_decodes_once_at_least() -> None:
    (request,) = build_trace(0, num_requests=1)
    assert request.max_tokens == 48
    assert request.shortened(3) == replace(request, max_tokens=16)
    assert request.shortened(100).max_tokens == 2
    assert replace(request, max_tokens=1).shortened(3).max_tokens == 1


def test_prompts_follow_the_successors() -> None:
    successors = np.stack([(np.arange(50) + step) % 50 for step in (1, 2, 3, 4)], axis=1)
    (request,) = build_trace(0, num_requests=1, vocab_size=50, successors=successors)
    own = request.prompt[SHARED_PREFIX_TOKENS:]
    steps = [(b - a) % 50 for a, b in itertools.pairwise(own)]
    assert set(steps) <= {1, 2, 3, 4}


def test_the_body_asks_for_a_stream_of_exact_length() -> None:
    body = build_trace(0, num_requests=1)[0].body()
    assert body["stream"] is True
    assert body["ignore_eos"] is True
    assert isinstance(body["prompt"], list)


def test_the_shared_tokens_are_those_of_an_ideal_cache() -> None:
    """In any order of arrival, a cache takes all tokens but the nodes of the prefix tree."""
    stream = random.Random(3)
    base = build_trace(0, num_requests=1)[0]
    for _ in range(20):
        prompts = [tuple(stream.choices((1, 2), k=stream.randint(1, 6))) for _ in range(8)]
        nodes = {prompt[:length] for prompt in prompts for length in range(1, len(prompt) + 1)}
        trace = [dataclasses.replace(base, prompt=prompt) for prompt in prompts]
        assert shared_prefix_tokens(trace) == sum(map(len, prompts)) - len(nodes)


def test_two_thirds_share_the_prefix() -> None:
    shared = shared_prefix_tokens(build_trace(0, num_requests=24))
    assert 15 * SHARED_PREFIX_TOKENS <= shared < 15 * SHARED_PREFIX_TOKENS + 24
    assert shared_prefix_tokens(()) == 0
