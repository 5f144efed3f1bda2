"""Which actions of a catalog keep a server within its accelerators."""

from collections.abc import Callable, Mapping, Sequence

from arbor.events.types import ActionTemplate, Parameter, Scalar

NumDevices = Callable[[Mapping[str, Scalar]], int]
"""Accelerators that a server of a flat configuration takes."""


def fitting_actions(
    templates: Sequence[ActionTemplate],
    baseline: Mapping[str, Scalar],
    num_devices: NumDevices,
    limit: int,
) -> tuple[ActionTemplate, ...]:
    """Return the templates that fit, without the choices that do not.

    A stack with more devices is faster without being better, so all stacks of a campaign get
    as many. Edits are looked at one by one on the baseline; what only a combination asks for is
    refused when its server is to start.

    Args:
        templates: the whole catalog.
        baseline: flat configuration of the root.
        num_devices: accelerators that a configuration takes.
        limit: accelerators that a server may take.
    """
    found = (_fitting(each, baseline, num_devices, limit) for each in templates)
    return tuple(each for each in found if each is not None)


def _fitting(
    template: ActionTemplate, baseline: Mapping[str, Scalar], num_devices: NumDevices, limit: int
) -> ActionTemplate | None:
    searched = {parameter.key for parameter in template.space}
    fixed = {e.key: e.value for e in template.edits if e.key not in searched}
    ground = {**baseline, **fixed}

    def fits(key: str, value: Scalar) -> bool:
        return num_devices({**ground, key: value}) <= limit

    if num_devices(ground) > limit:
        return None
    space = tuple(_narrowed(parameter, fits) for parameter in template.space)
    if any(parameter is None for parameter in space):
        return None
    edits = tuple(e for e in template.edits if e.key not in searched or fits(e.key, e.value))
    left = tuple(parameter for parameter in space if parameter is not None)
    return template.model_copy(update={"space": left, "edits": edits})


def _narrowed(parameter: Parameter, fits: Callable[[str, Scalar], bool]) -> Parameter | None:
    """Return a parameter without the choices that do not fit; None when one or none is left."""
    if parameter.kind != "categorical":
        highest = parameter.high if parameter.high is not None else 1.0
        value = int(highest) if parameter.kind == "int" else highest
        return parameter if fits(parameter.key, value) else None
    choices = tuple(choice for choice in parameter.choices if fits(parameter.key, choice))
    return parameter.model_copy(update={"choices": choices}) if len(choices) > 1 else None
