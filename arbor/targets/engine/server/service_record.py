"""What the front has served: requests by their end, their tokens and their time."""

from typing import Any

from arbor.targets.engine.server.sequence import Sequence


class ServiceRecord:
    """The server's own count, beside which a client's can be held."""

    def __init__(self) -> None:
        self._num_ended: dict[str, int] = {}
        self._num_output_tokens = 0
        self._e2e_s = 0.0

    def take(self, sequence: Sequence, reason: str, e2e_s: float) -> None:
        """Count a request that ended well, with its finish reason."""
        self._num_ended[reason] = self._num_ended.get(reason, 0) + 1
        self._num_output_tokens += sequence.num_generated
        self._e2e_s += e2e_s

    def as_dict(self) -> dict[str, Any]:
        """Totals since the start."""
        return {
            "num_requests": sum(self._num_ended.values()),
            "num_output_tokens": self._num_output_tokens,
            "e2e_s": self._e2e_s,
            **{f"finish_{reason}": count for reason, count in self._num_ended.items()},
        }
