"""Prompt lookup: what followed the last tokens when they stood before is tried as a draft.

Drafts are checked by one pass over the last token and the draft (arXiv:2302.01318, with a draft
model that is a look-up). A request's draws depend on its seed and on the number of the draw alone,
so a draft is taken exactly as far as the sampler chooses the same tokens itself: the outcome is
that of plain decoding, for greedy and for sampled requests alike.
"""

from arbor.targets.engine.server.sequence import Sequence
from arbor.targets.engine.server.settings import ApplicationSettings
from arbor.targets.engine.server.witness import Witness

Pair = tuple[int, int]


class PromptLookup:
    """Drafts from a sequence's own tokens.

    Args:
        settings: how long a draft may be.
        witness: counts look-ups, drafts, and tokens that came of them.
    """

    def __init__(self, settings: ApplicationSettings, witness: Witness) -> None:
        self._num_tokens = settings.speculation_tokens
        self._witness = witness
        # By slot: whose it is, and where each pair of tokens was continued last.
        self._indexes: dict[int, tuple[Sequence, dict[Pair, int]]] = {}

    def draft(self, sequence: Sequence) -> list[int]:
        """Return what may follow; nothing if the last two tokens are new together."""
        self._witness.count("speculation.looked_up")
        tokens = sequence.tokens
        limit = min(self._num_tokens, sequence.max_tokens - sequence.num_generated - 1)
        if len(tokens) < 2 or limit < 1:
            return []
        start = self._index(sequence).get((tokens[-2], tokens[-1]))
        if start is None:
            return []
        self._witness.count("speculation.drafted")
        return tokens[start : start + limit]

    def branches(self, sequence: Sequence, draft: list[int]) -> list[Sequence]:
        """Return the sequence, and what it would be after each token of the draft."""
        branches = [sequence]
        for count in range(1, len(draft) + 1):
            branch = Sequence(
                tokens=sequence.tokens + draft[:count],
                parameters=sequence.parameters,
                max_tokens=sequence.max_tokens,
                stop_tokens=sequence.stop_tokens,
                sink=sequence.sink,
            )
            branch.num_prompt = sequence.num_prompt
            branches.append(branch)
        return branches

    def accept(self, draft: list[int], chosen: list[int]) -> list[int]:
        """Return the chosen tokens up to the first one that the draft did not foresee."""
        for count, (foreseen, token) in enumerate(zip(draft, chosen, strict=False)):
            if foreseen != token:
                return chosen[: count + 1]
            self._witness.count("speculation.accepted")
        return chosen

    def _index(self, sequence: Sequence) -> dict[Pair, int]:
        """Continuations of all pairs but the last one, which has none yet."""
        owner, index = self._indexes.get(sequence.slot, (None, {}))
        tokens = sequence.tokens
        if owner is not sequence:
            index = {}
            self._indexes[sequence.slot] = (sequence, index)
            first = 2
        else:
            # a step adds this many tokens at most
            first = max(2, len(tokens) - self._num_tokens - 1)
        for stop in range(first, len(tokens)):
            index[tokens[stop - 2], tokens[stop - 1]] = stop
        return index
