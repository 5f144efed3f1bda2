"""The catalog of a landscape: one action for each switch and number, with priors of a quality."""

import math
from collections.abc import Mapping

from arbor.events.types import ActionTemplate, Edit, Parameter, Requirement, Witness
from arbor.targets.landscape_config import LandscapeConfig
from arbor.targets.landscape_samples import random_stream
from arbor.targets.landscape_surface import Number, Surface, Switch


def landscape_catalog(config: LandscapeConfig, surface: Surface) -> list[ActionTemplate]:
    """Return one action for each switch and number of a surface."""
    switches = {switch.name: switch for switch in surface.switches}
    return [
        *(_switch_action(config, switch, switches) for switch in surface.switches),
        *(_number_action(config, number) for number in surface.numbers),
    ]


def used_counter(switch: Switch) -> str:
    """Return the name of the counter that grows while a switch takes effect."""
    return f"{switch.name}.used"


def _prior(config: LandscapeConfig, name: str, log_gain: float) -> float:
    luck = random_stream("prior", config.seed, name).gauss(0.15, 0.2)
    return math.exp(config.prior_quality * log_gain + (1.0 - config.prior_quality) * luck)


def _switch_action(
    config: LandscapeConfig, switch: Switch, switches: Mapping[str, Switch]
) -> ActionTemplate:
    is_exact = switch.kl == 0.0 if switch.claims_exact is None else switch.claims_exact
    counter = Witness(kind="counter", key=used_counter(switch))
    prior = switch.prior_speedup_ratio or _prior(config, switch.name, switch.log_gain)
    return ActionTemplate(
        template_id=switch.name,
        layer=switch.layer,
        category=switch.category,
        title=switch.title or switch.name,
        edits=(Edit(key=switch.key, value=switch.value),),
        requires=tuple(
            Requirement(key=switches[name].key, any_of=(switches[name].value,))
            for name in switch.needs
        ),
        conflicts=tuple(
            Requirement(key=switches[name].key, any_of=(switches[name].value,))
            for name in switch.excludes
        ),
        unlocked_by=switch.unlocked_by,
        prior_speedup_ratio=prior,
        prior_accuracy_risk_ratio=0.02 if is_exact else 0.15,
        cost_s=switch.cost_s,
        is_exact=is_exact,
        witness=counter if switch.witness == "counter" else Witness(kind="config"),
    )


def _number_action(config: LandscapeConfig, number: Number) -> ActionTemplate:
    best = number.curvature * math.log(number.baseline / number.optimum) ** 2
    return ActionTemplate(
        template_id=number.name,
        layer=number.layer,
        category=number.category,
        title=number.title or number.name,
        space=(
            Parameter(
                key=number.key, kind=number.kind, low=number.low, high=number.high, log=True
            ),
        ),
        unlocked_by=number.unlocked_by,
        prior_speedup_ratio=number.prior_speedup_ratio or _prior(config, number.name, best),
        cost_s=number.cost_s,
    )
