"""The real engine with nothing to switch: what is tried is what somebody writes."""

from collections.abc import Sequence

from arbor.events.types import ActionTemplate, Hardware
from arbor.targets.engine.target import EngineTarget


class EngineWithoutCatalog(EngineTarget):
    """An engine target whose catalog is empty."""

    def actions(self, hardware: Hardware) -> Sequence[ActionTemplate]:  # noqa: ARG002 - none at all
        """Return nothing."""
        return ()
