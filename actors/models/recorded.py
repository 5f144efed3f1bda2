"""Replies that come from a log instead of a model."""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable

from arbor.actors.models.request import Answer
from arbor.core.layout import CampaignDirectory
from arbor.core.models import RecordedReplyMissingError
from arbor.core.spending import Payer
from arbor.events.base import Recorded
from arbor.events.blobs import BlobStore
from arbor.events.errors import InvalidInputError
from arbor.events.model_calls import ModelCalled
from arbor.events.parquet_reader import ParquetReader


class Recordings:
    """The replies of a log by role, prompt and use; safe for threads.

    Where the same prompt was used for several actions, each takes its own replies.

    Args:
        events: the log.
        blobs: its blobs.
    """

    def __init__(self, events: Iterable[Recorded], blobs: BlobStore) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()
        self._used: Counter[tuple[str, ...]] = Counter()
        self._calls: dict[tuple[str, ...], list[ModelCalled]] = defaultdict(list)
        for recorded in events:
            event = recorded.event
            if isinstance(event, ModelCalled) and event.reply_digest is not None:
                shared = (event.role, event.prompt_digest)
                self._calls[shared].append(event)
                self._calls[*shared, event.action_id or ""].append(event)

    @classmethod
    def of(cls, directory: CampaignDirectory) -> "Recordings":
        """Return the replies of a campaign.

        Raises:
            InvalidInputError: there is no campaign.
            CorruptLogError: its log cannot be read.
        """
        if not directory.log.is_dir():
            raise InvalidInputError(
                f"no campaign in {directory.path}: models.recorded_in names its directory"
            )
        return cls(ParquetReader(directory.log).read(), BlobStore(directory.blobs))

    def take(self, payer: Payer, prompt_digest: str) -> tuple[ModelCalled, Answer]:
        """Return the next recorded call with this prompt, and its answer.

        Raises:
            RecordedReplyMissingError: there is none.
            NotFoundError: its blob is missing.
            CorruptLogError: its blob is damaged.
        """
        own, shared = (payer.role, prompt_digest, payer.action_id), (payer.role, prompt_digest)
        key = own if own in self._calls else shared
        with self._lock:
            use = self._used[key]
            self._used[key] += 1
        found = self._calls.get(key, [])
        if use >= len(found):
            raise RecordedReplyMissingError(
                f"the recorded log has {len(found)} replies of role {payer.role} to prompt"
                f" {prompt_digest[:12]} and this is use {use + 1}: ask with the same prompts, or"
                " without replay"
            )
        digest = found[use].reply_digest or ""
        return found[use], Answer.restored(self._blobs.get(digest))
