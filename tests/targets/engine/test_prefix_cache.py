"""Prefixes are restored block by block, counted, and dropped on reset."""

import pytest

from arbor.targets.engine.server.prefix_cache import BLOCK_TOKENS
from arbor.targets.engine.trace import SHARED_PREFIX_TOKENS, TraceRequest

from .tiny import Generate, MakeEngine


@pytest.mark.parametrize("cache", ["concatenated", "preallocated"])
@pytest.mark.parametrize("packed", [False, True])
def test_shared_prefixes_are_computed_once(
    *,
    cache: str,
    packed: bool,
    make_engine: MakeEngine,
    generate: Generate,
    tiny_trace: tuple[TraceRequest, ...],
    baseline_tokens: list[list[int]],
) -> None:
    engine = make_engine(
        {
            "application": {"prefix_reuse": True, "max_num_seqs": 9},
            "framework": {"kv_cache": cache, "prefill_packing": packed},
        }
    )
    assert generate(engine) == baseline_tokens
    num_sharing = sum(index % 3 != 2 for index in range(len(tiny_trace)))
    # The first of them computes the prefix, even if all arrive in one pass.
    assert engine.prefix_cache.num_hit_tokens == (num_sharing - 1) * SHARED_PREFIX_TOKENS
    assert engine.prefix_cache.num_query_tokens == sum(len(r.prompt) for r in tiny_trace)
    computed = engine.prefix_cache.num_query_tokens - engine.prefix_cache.num_hit_tokens
    assert engine.num_prompt_tokens == computed

    assert generate(engine) == baseline_tokens
    again = sum((len(r.prompt) - 1) // BLOCK_TOKENS * BLOCK_TOKENS for r in tiny_trace)
    first = (num_sharing - 1) * SHARED_PREFIX_TOKENS
    assert engine.prefix_cache.num_hit_tokens == first + again

    engine.prefix_cache.clear()
    assert len(engine.prefix_cache) == 0
    assert generate(engine) == baseline_tokens
