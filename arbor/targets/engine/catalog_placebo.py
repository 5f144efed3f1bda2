"""Actions that change nothing: a campaign over them is an A/A test of the whole machinery."""

from arbor.events.types import ActionTemplate, Layer
from arbor.targets.engine.action_parts import set_key

NUM_PLACEBOS = 24


def placebo_actions() -> list[ActionTemplate]:
    """Return actions of all layers that promise much and do nothing."""
    layers = list(Layer)
    return [
        ActionTemplate(
            template_id=f"placebo_{number:02d}",
            layer=layers[number % len(layers)],
            category="all",
            title=f"Change nothing ({number})",
            edits=set_key("dispatch.placebo", number),
            prior_speedup_ratio=1.3,
        )
        for number in range(1, NUM_PLACEBOS + 1)
    ]
