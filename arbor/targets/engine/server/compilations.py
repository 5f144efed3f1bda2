"""What torch.compile has compiled in this process, and what it took from its cache."""

import sys


def compilations() -> dict[str, int]:
    """Totals since the start; zeros until something asks for the compiler."""
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return {"num_graphs": 0, "num_cache_hits": 0, "num_cache_misses": 0}
    counters = utils.counters
    return {
        "num_graphs": counters["stats"]["unique_graphs"],
        "num_cache_hits": counters["inductor"]["fxgraph_cache_hit"],
        "num_cache_misses": counters["inductor"]["fxgraph_cache_miss"],
    }
