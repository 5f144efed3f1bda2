"""The engine's actions, with what an engineer expects of each before anything is measured.

A prior speeds up the touched share of the time only; what touches several categories says ``all``
and its prior is for the whole. About a third of the actions helps nobody on a processor; they are
here because every serving guide names them.
"""

from collections.abc import Sequence

from arbor.events.types import ActionTemplate, Layer, Parameter
from arbor.targets.engine.action_parts import counter, requires, set_key
from arbor.targets.engine.catalog_compute import compiler_actions, kernel_actions
from arbor.targets.engine.catalog_dispatch import dispatch_actions


def engine_catalog(
    num_cores: int, concurrency: int, allocators: Sequence[str] = ()
) -> list[ActionTemplate]:
    """Return the actions for a machine and a client.

    Args:
        num_cores: processor cores, the bound of the number of threads.
        concurrency: requests that the client keeps open; more sequences would stay empty.
        allocators: allocators that are installed.
    """
    return [
        *_application(concurrency),
        *_framework(),
        *compiler_actions(),
        *kernel_actions(),
        *dispatch_actions(num_cores, allocators),
    ]


def _application(concurrency: int) -> list[ActionTemplate]:
    return [
        ActionTemplate(
            template_id="vectorised_sampler",
            layer=Layer.APPLICATION,
            category="sampling",
            title="Choose the tokens of all sequences in one call",
            edits=set_key("application.sampler", "vectorised"),
            prior_speedup_ratio=3.0,
            witness=counter("sampler.vectorised"),
        ),
        ActionTemplate(
            template_id="batched_decode",
            layer=Layer.APPLICATION,
            category="all",
            title="Decode all running sequences in one forward pass",
            edits=set_key("application.decode_batching", True),
            prior_speedup_ratio=1.6,
            witness=counter("decode.batched"),
        ),
        ActionTemplate(
            template_id="max_num_seqs",
            layer=Layer.APPLICATION,
            category="all",
            title="Tune how many sequences run at once",
            space=(
                Parameter(
                    key="application.max_num_seqs",
                    kind="int",
                    low=4,
                    high=max(32, concurrency),
                    log=True,
                ),
            ),
            # one at a time they only wait for each other
            requires=requires("application.decode_batching", True),
            prior_speedup_ratio=1.4,
            cost_s=30.0,
        ),
        ActionTemplate(
            template_id="prefix_reuse",
            layer=Layer.APPLICATION,
            category="all",
            title="Reuse the cache of prompts that begin alike",
            edits=set_key("application.prefix_reuse", True),
            prior_speedup_ratio=1.15,
            witness=counter("prefix_cache.restored"),
        ),
        ActionTemplate(
            template_id="shortest_first",
            layer=Layer.APPLICATION,
            category="all",
            title="Admit short prompts first",
            edits=set_key("application.admission", "shortest_first"),
            prior_speedup_ratio=1.02,
            witness=counter("admission.shortest_first"),
        ),
        ActionTemplate(
            template_id="longest_first",
            layer=Layer.APPLICATION,
            category="all",
            title="Admit first what has most tokens to generate",
            edits=set_key("application.admission", "longest_first"),
            prior_speedup_ratio=1.03,
            witness=counter("admission.longest_first"),
        ),
        ActionTemplate(
            template_id="prompt_lookup",
            layer=Layer.APPLICATION,
            category="all",
            title="Draft tokens from the sequence's own past and check them in one pass",
            edits=set_key("application.speculation", "prompt_lookup"),
            prior_speedup_ratio=1.05,
            witness=counter("speculation.looked_up"),
        ),
        ActionTemplate(
            template_id="stream_interval",
            layer=Layer.APPLICATION,
            category="all",
            title="Send several tokens per stream event",
            space=(
                Parameter(key="application.stream_interval", kind="int", low=1, high=16, log=True),
            ),
            prior_speedup_ratio=1.03,
            cost_s=45.0,
        ),
        ActionTemplate(
            template_id="larger_prefill_batches",
            layer=Layer.APPLICATION,
            category="all",
            title="Let a prefill pass hold four times the tokens",
            edits=set_key("application.max_num_batched_tokens", 8192),
            requires=requires("framework.prefill_packing", True),
            unlocked_by=("packed_prefill",),
            prior_speedup_ratio=1.03,
        ),
    ]


def _framework() -> list[ActionTemplate]:
    return [
        ActionTemplate(
            template_id="preallocated_cache",
            layer=Layer.FRAMEWORK,
            category="all",
            title="Write keys and values in place instead of joining tensors",
            edits=set_key("framework.kv_cache", "preallocated"),
            prior_speedup_ratio=1.1,
            witness=counter("kv_cache.preallocated"),
        ),
        ActionTemplate(
            template_id="sdpa",
            layer=Layer.FRAMEWORK,
            category="attention",
            title="Use the library's fused attention",
            edits=set_key("framework.attention", "sdpa"),
            unlocked_by=("batched_decode", "preallocated_cache"),
            prior_speedup_ratio=1.6,
            witness=counter("attention.sdpa"),
        ),
        ActionTemplate(
            template_id="last_logits",
            layer=Layer.FRAMEWORK,
            category="head",
            title="Compute logits of a prompt's last position only",
            edits=set_key("framework.prefill_logits", "last"),
            prior_speedup_ratio=1.8,
            witness=counter("prefill_logits.last"),
        ),
        ActionTemplate(
            template_id="rope_table",
            layer=Layer.FRAMEWORK,
            category="norm_activation",
            title="Look rotary angles up in a table",
            edits=set_key("framework.rope", "table"),
            requires=requires("kernel.operators", "torch"),
            prior_speedup_ratio=1.2,
            witness=counter("rope.table"),
        ),
        ActionTemplate(
            template_id="packed_prefill",
            layer=Layer.FRAMEWORK,
            category="all",
            title="Prefill several prompts in one pass",
            edits=set_key("framework.prefill_packing", True),
            unlocked_by=("max_num_seqs",),
            prior_speedup_ratio=1.1,
            witness=counter("prefill.packed"),
        ),
        ActionTemplate(
            template_id="inference_mode",
            layer=Layer.FRAMEWORK,
            category="all",
            title="Run under inference mode",
            edits=set_key("framework.grad_mode", "inference_mode"),
            prior_speedup_ratio=1.05,
            witness=counter("grad_mode.inference_mode"),
        ),
        ActionTemplate(
            template_id="static_masks",
            layer=Layer.FRAMEWORK,
            category="attention",
            title="Cut attention's masks out of tables",
            edits=set_key("framework.masks", "static"),
            unlocked_by=("batched_decode", "preallocated_cache", "prefix_reuse"),
            prior_speedup_ratio=1.05,
            witness=counter("masks.static"),
        ),
        ActionTemplate(
            template_id="ragged_decode",
            layer=Layer.FRAMEWORK,
            category="attention",
            title="Attend sequence by sequence instead of padding them to one length",
            edits=set_key("framework.decode_layout", "ragged"),
            requires=(
                *requires("framework.kv_cache", "preallocated"),
                *requires("application.decode_batching", True),
                *requires("kernel.operators", "torch"),
            ),
            unlocked_by=("sdpa",),
            prior_speedup_ratio=1.05,
            witness=counter("decode_layout.ragged"),
        ),
    ]
