"""A hundred functions of two numbers: ten families, each shifted, turned, stretched ten ways."""

import math
import random
from collections.abc import Callable, Sequence

from arbor.studies.problems import Problem, box

HALF_WIDTH = 5.0
NUM_EACH = 10

_Loss = Callable[[float, float], float]
"""Loss around an optimum of 0 at the origin, on a scale of about 5."""


def _bowl(x: float, y: float) -> float:
    return x * x + y * y


def _ellipse(x: float, y: float) -> float:
    return x * x + 100.0 * y * y


def _cosines(x: float, y: float) -> float:
    waves = math.cos(2 * math.pi * x) + math.cos(2 * math.pi * y)
    return x * x + y * y + 10.0 * (2.0 - waves)


def _valley(x: float, y: float) -> float:
    u, v = 0.5 * x + 1.0, 0.5 * y + 1.0
    return 100.0 * (v - u * u) ** 2 + (1.0 - u) ** 2


def _steps(x: float, y: float) -> float:
    return abs(round(2.0 * x)) + abs(round(2.0 * y)) + 0.01 * (x * x + y * y)


def _needle(x: float, y: float) -> float:
    squared = x * x + y * y
    return 1.0 - 0.5 * math.exp(-squared / (2 * 0.3**2)) - 0.5 * math.exp(-squared / (2 * 3.0**2))


def _ridge(x: float, y: float) -> float:
    return abs(x) + 0.1 * abs(y)


def _deceptive(x: float, y: float) -> float:
    true = math.exp(-(x * x + y * y) / (2 * 0.6**2))
    false = 0.8 * math.exp(-((x - 3.0) ** 2 + (y - 2.0) ** 2) / (2 * 2.0**2))
    return 1.0 - max(true, false)


def _plateau(x: float, y: float) -> float:
    return math.tanh(0.5 * math.hypot(x, y) ** 3) + 0.001 * math.hypot(x, y)


def _ripples(x: float, y: float) -> float:
    radius = math.hypot(x, y)
    return 1.0 - math.cos(3.0 * radius) + 0.2 * radius


FAMILIES: dict[str, _Loss] = {
    "bowl": _bowl,
    "ellipse": _ellipse,
    "cosines": _cosines,
    "valley": _valley,
    "steps": _steps,
    "needle": _needle,
    "ridge": _ridge,
    "deceptive": _deceptive,
    "plateau": _plateau,
    "ripples": _ripples,
}


def synthetic_problems(num: int = NUM_EACH * len(FAMILIES)) -> list[Problem]:
    """Return the first functions, a family after the other; equal on every machine."""
    made = [_made(family, number) for number in range(NUM_EACH) for family in FAMILIES]
    return made[:num]


def _made(family: str, number: int) -> Problem:
    source = random.Random(f"{family}:{number}")  # noqa: S311 - a function, not a secret
    # Within the box, and never in its middle, where searches begin.
    centre = [source.choice((-1, 1)) * source.uniform(1.0, 0.8 * HALF_WIDTH) for _ in range(2)]
    angle = source.uniform(0.0, 2.0 * math.pi)
    stretch = source.uniform(0.7, 1.3)
    loss = FAMILIES[family]
    cos, sin = math.cos(angle), math.sin(angle)

    def value(numbers: Sequence[float]) -> float:
        x, y = (stretch * (n - c) for n, c in zip(numbers, centre, strict=True))
        return -loss(cos * x - sin * y, sin * x + cos * y)

    return Problem(
        name=f"{family}-{number}",
        group="synthetic",
        space=box(("x", "y"), -HALF_WIDTH, HALF_WIDTH),
        value=value,
        best_value=0.0,
        best_numbers=tuple(centre),
    )
