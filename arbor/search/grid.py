"""Spaces of a few choices: all their points, so that none is tried twice and none is missed."""

import math
from collections.abc import Sequence
from itertools import product

from arbor.events.types import Edit, Parameter
from arbor.search.engine import Point


def every_point(space: Sequence[Parameter], limit: int) -> tuple[Point, ...]:
    """Return all points of a space of choices; none when they are more than ``limit``."""
    if any(parameter.kind != "categorical" for parameter in space):
        return ()
    if math.prod(len(parameter.choices) for parameter in space) > limit:
        return ()
    return tuple(
        tuple(Edit(key=p.key, value=value) for p, value in zip(space, values, strict=True))
        for values in product(*(parameter.choices for parameter in space))
    )
