"""The event log in an S3-compatible store: the same files as on disk, put if absent."""

import os
import re
import socket
import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from arbor.events.base import Recorded, timestamp_us
from arbor.events.codec import FORMAT_VERSION
from arbor.events.errors import CorruptLogError, FencedError, InvalidInputError, NotFoundError
from arbor.events.layout import sealed_fields, to_sealed
from arbor.events.ledger import Clock, utc_now
from arbor.events.log import GENESIS_DIGEST, Head
from arbor.events.log_file import LogFile
from arbor.events.object_store import ObjectStore
from arbor.events.single_writer import SingleWriter

FORMAT = "format.json"
_CACHE_FILES = 64
_POLL_S = 0.2
_TAIL = re.compile(r"(\d{20})\.parquet")


class ObjectReader:
    """Follows a log in a store; an object is durable once it is there.

    Raises:
        NotFoundError: there is no log.
        InvalidInputError: the log has another format.
        CorruptLogError: what says so is damaged.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._firsts: list[int] = []
        self._cache: OrderedDict[int, LogFile] = OrderedDict()
        self._head = Head(0, GENESIS_DIGEST)
        self._lock = threading.RLock()
        try:
            fields = sealed_fields(store.get(FORMAT), f"{store}/{FORMAT}")
        except FileNotFoundError as error:
            raise NotFoundError(f"no event log in {store}: give that of a campaign") from error
        if fields.get("format") != FORMAT_VERSION:
            raise InvalidInputError(
                f"{store} has log format {fields.get('format')!r}, this Arbor reads format"
                f" {FORMAT_VERSION}: use the Arbor version that wrote it"
            )
        self.campaign_id = str(fields["campaign_id"])

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Recorded]:
        """Yield durable events beyond ``after`` in order.

        Raises:
            CorruptLogError: a stored event cannot be read or breaks the order.
            LogError: the store failed.
        """
        return islice((r for file in self.files(after) for r in file.events(after)), limit)

    def head(self) -> Head:
        """Return the durable end of the log.

        Raises:
            CorruptLogError: an object is damaged.
            LogError: the store failed.
        """
        with self._lock:
            self._catch_up()
            return self._head

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Poll until the durable head lies beyond ``position``; return whether it does.

        Raises:
            LogError: the store failed.
        """
        deadline = time.monotonic() + timeout_s
        while self.head().position <= position:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            time.sleep(min(_POLL_S, left_s))
        return True

    def files(self, after: int = 0) -> Iterator[LogFile]:
        """Yield the files that hold the events beyond a position.

        Raises:
            CorruptLogError: an object is damaged.
            LogError: the store failed.
        """
        with self._lock:
            self._catch_up()
            begin = max(bisect_right(self._firsts, max(after, 0) + 1) - 1, 0)
            firsts = self._firsts[begin:]
        for first in firsts:
            with self._lock:
                file = self._load(first)
            if file.last > after:
                yield file

    def _catch_up(self) -> None:
        """Take note of new commits; each must continue the chain."""
        newest = tail_name(self._firsts[-1]).partition("/")[2] if self._firsts else ""
        for name in self._store.names("tail", newest):
            if (match := _TAIL.fullmatch(name)) is None:
                continue
            first = int(match[1])
            file = self._load(first)
            if (file.first, file.extent.previous) != (self._head.position + 1, self._head.digest):
                raise CorruptLogError(
                    f"{self._store}/tail/{name} does not follow the commit before it:"
                    " restore it from a copy"
                )
            self._firsts.append(first)
            self._head = Head(file.last, file.extent.digest)

    def _load(self, first: int) -> LogFile:
        file = self._cache.pop(first, None)
        if file is None:
            name = tail_name(first)
            try:
                file = LogFile(Path(f"{self._store}/{name}"), self._store.get(name))
            except FileNotFoundError as error:
                raise CorruptLogError(f"{error} is gone: restore it from a copy") from error
        self._cache[first] = file
        while len(self._cache) > _CACHE_FILES:
            self._cache.popitem(last=False)
        return file


class ObjectLog(SingleWriter):
    """The single writer of a log in a store; build it with ``open``.

    The tail is never compacted: an object is read whole, and rewriting costs transfers.
    """

    def __init__(self, store: ObjectStore, reader: ObjectReader, epoch: int, clock: Clock) -> None:
        super().__init__(reader.campaign_id, reader, epoch, clock)
        self._store = store
        self._reader = reader

    @classmethod
    def open(
        cls, store: ObjectStore, campaign_id: str, clock: Clock = utc_now, *, create: bool = True
    ) -> "ObjectLog":
        """Take the log over from whoever wrote it, check all of it, and fold it.

        Args:
            store: where it lies.
            campaign_id: campaign that the log must belong to.
            clock: gives ``recorded_at``.
            create: make a new log where there is none.

        Raises:
            NotFoundError: there is no log and none may be created.
            InvalidInputError: another format or campaign.
            FencedError: yet another writer took over meanwhile.
            CorruptLogError: stored events do not match their digests or positions.
            LogError: the store failed.
        """
        if create:
            store.put(FORMAT, to_sealed({"campaign_id": campaign_id, "format": FORMAT_VERSION}))
        reader = ObjectReader(store)
        if reader.campaign_id != campaign_id:
            raise InvalidInputError(
                f"{store} belongs to campaign {reader.campaign_id!r}, not {campaign_id!r}:"
                " name that one or choose another prefix"
            )
        log = cls(store, reader, _claim_epoch(store, clock), clock)
        log._adopt()
        return log

    def _publish(self, first: int, data: bytes) -> bool:
        return self._store.put(tail_name(first), data)

    def _require_newest(self) -> None:
        newest = _newest_epoch(self._store)
        if newest != self.epoch:
            raise FencedError(
                f"{self._store} was taken over by another process (epoch {newest}): this writer"
                f" (epoch {self.epoch}) must stop"
            )

    def _files(self, after: int) -> Iterator[LogFile]:
        return self._reader.files(after)

    def _committed(self, position: int) -> None:
        """Nothing follows: objects are never compacted."""


def tail_name(first: int) -> str:
    """Return the name of the commit that begins at a position."""
    return f"tail/{first:020d}.parquet"


def _newest_epoch(store: ObjectStore) -> int:
    return max((int(name) for name in store.names("epochs") if name.isdigit()), default=0)


def _claim_epoch(store: ObjectStore, clock: Clock) -> int:
    """Become the only writer; see ``Layout.claim_epoch``."""
    while True:
        epoch = _newest_epoch(store) + 1
        claim = {
            "claimed_at_us": timestamp_us(clock()),
            "epoch": epoch,
            "host": socket.gethostname(),
            "process_id": os.getpid(),
        }
        if store.put(f"epochs/{epoch}", to_sealed(claim)):
            return epoch
