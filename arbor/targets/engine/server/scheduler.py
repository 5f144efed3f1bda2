"""Which sequences run: admission to slots, and preemption when the KV cache is full."""

import heapq
from collections import deque
from collections.abc import Callable

from arbor.targets.engine.server.sequence import Sequence
from arbor.targets.engine.server.settings import ApplicationSettings

# Short prompts first shortens the mean wait; what runs longest first shortens the tail of a load
# (longest processing time first, Graham 1969).
_ORDERS: dict[str, Callable[[Sequence], int]] = {
    "shortest_first": lambda sequence: len(sequence.tokens),
    "longest_first": lambda sequence: sequence.num_generated - sequence.max_tokens,
}


class Scheduler:
    """Waiting and running sequences; the lowest free slot is given first.

    A padded decode step pays for every slot below the highest used one, hence the lowest first.
    """

    def __init__(self, settings: ApplicationSettings) -> None:
        self._settings = settings
        self._free = list(range(settings.max_num_seqs))
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.num_preemptions = 0

    def add(self, sequence: Sequence) -> None:
        """Queue a new sequence."""
        self.waiting.append(sequence)

    def admit(self) -> list[Sequence]:
        """Give slots to waiting sequences; they run from now on and have to be prefilled."""
        order = _ORDERS.get(self._settings.admission)
        if order is not None and len(self.waiting) > 1:
            self.waiting = deque(sorted(self.waiting, key=order))
        admitted: list[Sequence] = []
        num_tokens = sum(len(sequence.tokens) for sequence in self.running)
        while self.waiting and self._free:
            num_tokens += len(self.waiting[0].tokens) + 1
            is_first = not self.running and not admitted
            if num_tokens > self._settings.kv_capacity_tokens and not is_first:
                break
            sequence = self.waiting.popleft()
            sequence.slot = heapq.heappop(self._free)
            sequence.num_cached = 0
            admitted.append(sequence)
        self.running.extend(admitted)
        return admitted

    def preempt(self) -> list[Sequence]:
        """Send the youngest sequences back until the next decode step fits; never the last one.

        Returns:
            The sequences that lost their slot and are computed anew later.
        """
        preempted = []
        num_tokens = sum(len(sequence.tokens) for sequence in self.running)
        while num_tokens > self._settings.kv_capacity_tokens and len(self.running) > 1:
            victim = self.running[-1]
            num_tokens -= len(victim.tokens)
            preempted.append(victim)
            self.release(victim)
            self.waiting.appendleft(victim)
            self.num_preemptions += 1
        return preempted

    def release(self, sequence: Sequence) -> None:
        """Take a running sequence's slot back."""
        self.running.remove(sequence)
        heapq.heappush(self._free, sequence.slot)
