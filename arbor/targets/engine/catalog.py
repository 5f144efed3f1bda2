"""The engine's actions, with what an engineer expects of each before anything is measured.

A prior speeds up the touched share of the time only; what touches several categories says ``all``
and its prior is for the whole. About a third of the actions helps nobody on a processor; they are
here because every serving guide names them.
"""

from arbor.events.types import ActionTemplate, Layer, Parameter
from arbor.targets.engine.action_parts import counter, requires, set_key
from arbor.targets.engine.catalog_compute import compiler_actions, kernel_actions


def engine_catalog(num_cores: int, concurrency: int) -> list[ActionTemplate]:
    """Return the actions for a machine and a client.

    Args:
        num_cores: processor cores, the bound of the number of threads.
        concurrency: requests that the client keeps open; more sequences would stay empty.
    """
    actions = [
        *_application(concurrency),
        *_framework(),
        *compiler_actions(),
        *kernel_actions(),
        *_dispatch(),
    ]
    if num_cores > 1:
        actions.append(_threads(num_cores))
    return actions


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
    ]


def _dispatch() -> list[ActionTemplate]:
    # set up once at the start, so no counter grows in a window: the resolved value is the proof
    return [
        ActionTemplate(
            template_id="pinned_affinity",
            layer=Layer.DISPATCH,
            category="all",
            title="Pin the server to cores",
            edits=set_key("dispatch.affinity", "pinned"),
            prior_speedup_ratio=1.05,
        ),
        ActionTemplate(
            template_id="tuned_malloc",
            layer=Layer.DISPATCH,
            category="all",
            title="Keep freed memory in the process",
            edits=set_key("dispatch.malloc", "arena_tuned"),
            prior_speedup_ratio=1.03,
        ),
        ActionTemplate(
            template_id="gc_off",
            layer=Layer.DISPATCH,
            category="all",
            title="Turn the garbage collector off",
            edits=set_key("dispatch.gc", "off"),
            prior_speedup_ratio=1.02,
            prior_crash_risk_ratio=0.05,
        ),
        ActionTemplate(
            template_id="flushed_denormals",
            layer=Layer.DISPATCH,
            category="linear",
            title="Flush denormal numbers to zero",
            edits=set_key("dispatch.denormals", "flushed"),
            prior_speedup_ratio=1.05,
        ),
        ActionTemplate(
            template_id="switch_interval",
            layer=Layer.DISPATCH,
            category="all",
            title="Let the engine's thread keep the interpreter longer",
            edits=set_key("dispatch.switch_interval_us", 20_000),
            prior_speedup_ratio=1.02,
        ),
    ]


def _threads(num_cores: int) -> ActionTemplate:
    return ActionTemplate(
        template_id="threads",
        layer=Layer.DISPATCH,
        category="all",
        title="Tune the number of threads",
        space=(Parameter(key="dispatch.threads", kind="int", low=1, high=num_cores, log=True),),
        unlocked_by=("batched_decode", "int8_weights"),
        prior_speedup_ratio=1.0 + 0.2 * min(num_cores - 1, 5),
        cost_s=45.0,
    )
