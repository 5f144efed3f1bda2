"""The projections that ship with Arbor; a new one is one file and one line here."""

from dataclasses import replace
from pathlib import Path

from arbor.replay.projections.base import Projection, SqlProjection
from arbor.replay.projections.constraint_blocks import ConstraintBlocks
from arbor.replay.projections.costs import Costs
from arbor.replay.projections.lessons import Lessons


def _shipped(name: str) -> SqlProjection:
    projection = SqlProjection.from_file(Path(__file__).parent / f"{name}.sql")
    return replace(projection, origin="Arbor")


SHIPPED: tuple[Projection, ...] = (
    _shipped("nodes"),
    _shipped("templates"),
    _shipped("knowledge"),
    _shipped("constraints"),
    _shipped("timeline"),
    _shipped("calibration"),
    _shipped("specialist_yield"),
    _shipped("guardrail_hits"),
    _shipped("pareto"),
    Costs,
    ConstraintBlocks,
    Lessons,
)
"""In an order in which each may use those before it; Python ones may be used by all."""
