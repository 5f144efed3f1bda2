"""The real engine with nothing left to switch: what is tried is what somebody writes."""

from collections.abc import Sequence

from arbor.events.types import ActionTemplate, Hardware, Scalar
from arbor.targets.engine.target import EngineTarget


class EngineWithoutCatalog(EngineTarget):
    """An engine target whose catalog is empty; it decodes in batches, so sampling takes long."""

    def baseline_config(self) -> dict[str, Scalar]:
        """Return the engine's own with batched decoding."""
        return {**super().baseline_config(), "application.decode_batching": True}

    def actions(self, hardware: Hardware) -> Sequence[ActionTemplate]:  # noqa: ARG002 - none at all
        """Return nothing."""
        return ()
