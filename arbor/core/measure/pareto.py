"""Throughput against latency: the front of a sweep, and the area that it dominates."""

from collections.abc import Sequence

Point = tuple[float, float]
"""Throughput in tokens per second, latency in milliseconds."""


def pareto_front(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points that no other one beats in both, lowest latency first."""
    front: list[Point] = []
    for throughput, latency_ms in sorted(points, key=lambda p: (p[1], -p[0])):
        if not front or throughput > front[-1][0]:
            front.append((throughput, latency_ms))
    return tuple(front)


def hypervolume(points: Sequence[Point], max_latency_ms: float) -> float:
    """Return the area between the front and the reference (throughput 0, ``max_latency_ms``).

    Args:
        points: throughput in tok/s and latency in ms of every concurrency.
        max_latency_ms: reference latency; slower points add nothing.

    Returns:
        The area in tok/s times ms.
    """
    front = [point for point in pareto_front(points) if point[1] < max_latency_ms]
    area = 0.0
    for i, (throughput, latency_ms) in enumerate(front):
        below = front[i - 1][0] if i else 0.0
        area += (throughput - below) * (max_latency_ms - latency_ms)
    return area
