"""A few physical systems whose parameters have names, units and a meaning that a prior knows."""

import math
from collections.abc import Sequence

from arbor.events.types import Parameter
from arbor.search.space import Space
from arbor.studies.problems import Problem

_GRAVITY = 9.81
_DRAG_PER_M = 0.01
"""Deceleration by drag over the square of speed."""
_TARGET_M = 60.0
_MASS_RATIO = 0.05


def _floats(*ranges: tuple[str, float, float, bool]) -> Space:
    return Space(
        [Parameter(key=k, kind="float", low=lo, high=hi, log=log) for k, lo, hi, log in ranges]
    )


def _projectile(numbers: Sequence[float]) -> float:
    """Return minus the miss of a target on the ground, and a price for the speed of the throw."""
    angle, speed = math.radians(numbers[0]), numbers[1]
    x, y = 0.0, 0.0
    vx, vy = speed * math.cos(angle), speed * math.sin(angle)
    step_s = 0.02
    while y >= 0.0:
        pace = math.hypot(vx, vy)
        vx -= step_s * _DRAG_PER_M * pace * vx
        vy -= step_s * (_GRAVITY + _DRAG_PER_M * pace * vy)
        x, y = x + step_s * vx, y + step_s * vy
    # Back to the ground along the last step.
    x -= y * vx / vy
    return -abs(x - _TARGET_M) - 0.1 * speed


def _controller(numbers: Sequence[float]) -> float:
    """Return minus the time-weighted error of a PID loop around ``1 / (s^2 + s + 1)``."""
    proportional, integral, derivative = numbers
    position = pace = summed = cost = 0.0
    previous = 1.0
    step_s = 0.02
    for tick in range(500):
        error = 1.0 - position
        summed += step_s * error
        push = proportional * error + integral * summed + derivative * (error - previous) / step_s
        push = min(max(push, -20.0), 20.0)
        previous = error
        pace += step_s * (push - pace - position)
        position += step_s * pace
        cost += step_s * tick * step_s * abs(error)
        if abs(position) > 1e3:
            return math.nan
    return -cost


def _mass_damper(numbers: Sequence[float]) -> float:
    """Return minus the worst amplification of a mass with a tuned damper.

    Den Hartog's optimum: frequency ratio ``1 / (1 + m)``, damping ``sqrt(3 m / (8 (1 + m)^3))``.
    """
    tuning, damping = numbers
    worst = 0.0
    for tick in range(201):
        ratio = 0.6 + 0.8 * tick / 200
        squared = ratio * ratio
        gap = tuning * tuning - squared
        drag = 2.0 * damping * tuning * ratio
        real = gap * (1.0 - squared) - _MASS_RATIO * tuning * tuning * squared
        imaginary = drag * (1.0 - squared * (1.0 + _MASS_RATIO))
        below = math.hypot(real, imaginary)
        worst = max(worst, math.hypot(gap, drag) / below if below else math.inf)
    return -worst


def _fin(numbers: Sequence[float]) -> float:
    """Return the heat that a fin gives off per volume of metal, in kW/m^3 a kelvin."""
    thickness_m, length_m = numbers[0] / 1000.0, numbers[1] / 1000.0
    conductivity, film = 200.0, 50.0
    m = math.sqrt(2.0 * film / (conductivity * thickness_m))
    heat = math.sqrt(2.0 * film * conductivity * thickness_m) * math.tanh(m * length_m)
    # A metal sheet below half a millimetre or shorter than a centimetre costs more to make.
    penalty = 1.0 + (0.5 / numbers[0]) ** 4 + (10.0 / numbers[1]) ** 4
    return heat / (thickness_m * length_m) / 1000.0 / penalty


def _cluster(numbers: Sequence[float]) -> float:
    """Return minus the Lennard-Jones energy of two fixed atoms and a third; at best 3."""
    side = 2.0 ** (1.0 / 6.0)
    x, y = numbers
    distances = (side, math.hypot(x, y), math.hypot(x - side, y))
    if min(distances) < 0.5:
        return math.nan
    return -math.fsum(4.0 * (d**-12 - d**-6) for d in distances)


def physical_problems() -> list[Problem]:
    """Return the systems."""
    side = 2.0 ** (1.0 / 6.0)
    optimum = (1 / (1 + _MASS_RATIO), math.sqrt(3 * _MASS_RATIO / (8 * (1 + _MASS_RATIO) ** 3)))
    throw = _floats(("angle_deg", 5.0, 85.0, False), ("speed_m_s", 10.0, 80.0, False))
    gains = _floats(
        ("proportional", 0.1, 50.0, True),
        ("integral", 0.01, 20.0, True),
        ("derivative", 0.01, 10.0, True),
    )
    damper = _floats(("tuning_ratio", 0.6, 1.4, False), ("damping_ratio", 0.005, 0.5, True))
    fin = _floats(("thickness_mm", 0.1, 5.0, True), ("length_mm", 2.0, 200.0, True))
    atom = _floats(("x", -1.0, 2.5, False), ("y", 0.1, 2.5, False))
    return [
        Problem("projectile", "physical", throw, _projectile),
        Problem("controller", "physical", gains, _controller),
        Problem("mass_damper", "physical", damper, _mass_damper, None, optimum),
        Problem("fin", "physical", fin, _fin),
        Problem(
            "cluster", "physical", atom, _cluster, 3.0, (side / 2.0, side * math.sqrt(3.0) / 2.0)
        ),
    ]
