"""The projections that ship with Arbor; a new one is one file and one line here."""

from pathlib import Path

from arbor.replay.projections.base import Projection, SqlProjection
from arbor.replay.projections.costs import Costs

_HERE = Path(__file__).parent

SHIPPED: tuple[Projection, ...] = (
    SqlProjection.from_file(_HERE / "nodes.sql"),
    SqlProjection.from_file(_HERE / "templates.sql"),
    SqlProjection.from_file(_HERE / "knowledge.sql"),
    SqlProjection.from_file(_HERE / "constraints.sql"),
    SqlProjection.from_file(_HERE / "timeline.sql"),
    SqlProjection.from_file(_HERE / "calibration.sql"),
    SqlProjection.from_file(_HERE / "specialist_yield.sql"),
    SqlProjection.from_file(_HERE / "guardrail_hits.sql"),
    SqlProjection.from_file(_HERE / "pareto.sql"),
    Costs,
)
"""In an order in which each may use those before it; Python ones may be used by all."""
