"""Which engine searches the numbers of an action; a pure function of the campaign's state."""

import math

from arbor.core.state import CampaignState
from arbor.events.choice import RouteDecided
from arbor.events.types import ActionTemplate
from arbor.search.engine import ADVISED
from arbor.search.probes import rate, slope
from arbor.search.router import Play, Probes, choose

ROUTER = "router"
"""Value of ``search.engine`` that lets evidence decide."""


def route(state: CampaignState, action_id: str, template: ActionTemplate) -> RouteDecided:
    """Return the choice of an engine with its evidence."""
    search = state.settings.search
    if search.engine != ROUTER:
        is_default = search.engine == "tpe"
        return RouteDecided(
            action_id=action_id,
            engine=search.engine,
            evidence="no language model configured: numbers go to black-box search"
            if is_default
            else f"search.engine is {search.engine}",
            layer=template.layer,
            language=template.language,
        )
    choice = choose(search.router_arms, ADVISED, probes(state, template), plays(state, template))
    return RouteDecided(
        action_id=action_id,
        engine=choice.engine,
        evidence=choice.evidence(),
        layer=template.layer,
        language=template.language,
        density=choice.density,
        probes=choice.probes,
        arms=choice.arms,
    )


def plays(state: CampaignState, template: ActionTemplate) -> tuple[Play, ...]:
    """Return the finished searches in a template's layer and language, oldest first."""
    found = []
    for engine, values in _searches(state, template):
        known = [math.log(value) for value in values if value is not None and value > 0]
        gain = max(known) - known[0] if known else 0.0
        found.append(Play(engine, gain, float(len(values))))
    return tuple(found)


def probes(state: CampaignState, template: ActionTemplate) -> Probes:
    """Return what earlier searches say about the adviser's prior in this layer and language.

    The first answer of each advised search is its zero-shot answer; the first rounds of the
    latest one give the slope. Collapse and shifted sizes are probed by studies, not by campaigns.
    """
    advised = [values for engine, values in _searches(state, template) if engine in ADVISED]
    if not advised:
        return Probes()
    first = [values[0] for values in advised]
    latest = [None if v is None or v <= 0 else math.log(v) for v in advised[-1]]
    return Probes(
        correct=rate(sum(value is not None for value in first), len(first)),
        slope=slope(latest),
        num_rounds=len(latest),
    )


def _searches(
    state: CampaignState, template: ActionTemplate
) -> list[tuple[str, list[float | None]]]:
    """Return engine and values of every search of a template's layer and language."""
    found = []
    for node_id, dispatch in state.dispatches.items():
        other = state.tree.templates[dispatch.template_id]
        trials = state.trials.get(node_id)
        taken = state.routes.get(dispatch.action_id or "")
        if trials and taken is not None and _key(other) == _key(template):
            found.append((taken.engine, [trial.throughput_tok_s for trial in trials]))
    return found


def _key(template: ActionTemplate) -> tuple[str, str]:
    return template.layer, template.language
