"""Spaces of a few choices: all their points, so that none is tried twice and none is missed."""

import math
from collections.abc import Sequence
from itertools import product

from arbor.events.types import Parameter
from arbor.search.space import Point, Space


def every_point(space: Space | Sequence[Parameter], limit: int) -> tuple[Point, ...]:
    """Return all points of a space of choices; none when they are more than ``limit``.

    Points that break a rule of the space are left out.
    """
    space = Space.of(space)
    if any(parameter.kind != "categorical" for parameter in space):
        return ()
    if math.prod(len(parameter.choices) for parameter in space) > limit:
        return ()
    keys = [parameter.key for parameter in space]
    # Values of parameters that do not exist fall away, which leaves equal points.
    points = dict.fromkeys(
        space.point(dict(zip(keys, values, strict=True)))
        for values in product(*(parameter.choices for parameter in space))
    )
    return tuple(point for point in points if not space.problem(point))
