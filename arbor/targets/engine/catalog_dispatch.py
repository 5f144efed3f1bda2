"""The engine's actions on what the process asks of the machine and of the interpreter."""

from collections.abc import Sequence

from arbor.events.types import ActionTemplate, Layer, Parameter
from arbor.targets.engine.action_parts import requires, set_key


def dispatch_actions(num_cores: int, allocators: Sequence[str]) -> list[ActionTemplate]:
    """Return the actions for a machine.

    Args:
        num_cores: processor cores, the bound of the number of threads.
        allocators: allocators that are installed.
    """
    actions = [*_process(), *(_allocator(name) for name in allocators)]
    if num_cores > 1:
        actions += [_threads(num_cores), _apart()]
    return actions


def _process() -> list[ActionTemplate]:
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
            requires=requires("dispatch.allocator", "system"),
            prior_speedup_ratio=1.03,
        ),
        ActionTemplate(
            template_id="huge_pages",
            layer=Layer.DISPATCH,
            category="all",
            title="Let the allocator ask for huge pages",
            edits=set_key("dispatch.malloc", "huge_pages"),
            requires=requires("dispatch.allocator", "system"),
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
            template_id="gc_frozen",
            layer=Layer.DISPATCH,
            category="all",
            title="Spare what lives long from garbage collection",
            edits=set_key("dispatch.gc", "frozen"),
            prior_speedup_ratio=1.01,
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


def _allocator(name: str) -> ActionTemplate:
    return ActionTemplate(
        template_id=name,
        layer=Layer.DISPATCH,
        category="all",
        title=f"Preload {name} as the allocator",
        edits=set_key("dispatch.allocator", name),
        prior_speedup_ratio=1.05,
        prior_crash_risk_ratio=0.05,
    )


def _apart() -> ActionTemplate:
    return ActionTemplate(
        template_id="apart_affinity",
        layer=Layer.DISPATCH,
        category="all",
        title="Give the engine and its HTTP front cores of their own",
        edits=set_key("dispatch.affinity", "apart"),
        prior_speedup_ratio=1.03,
    )


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
