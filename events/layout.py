"""The directory of a log: names of its files, its format, and the epochs of its writers."""

import json
import os
import re
import socket
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from arbor.events.base import canonical_json, timestamp_us
from arbor.events.codec import FORMAT_VERSION, SCHEMA, Extent, encode_file
from arbor.events.durable import make_directory, publish, sweep_temporary
from arbor.events.errors import (
    CorruptLogError,
    FencedError,
    InvalidInputError,
    NotFoundError,
)
from arbor.events.ledger import Clock
from arbor.events.log import GENESIS_DIGEST

_TAIL = re.compile(r"(\d{20})\.parquet")
_SEGMENT = re.compile(r"(\d{20})-(\d{20})\.parquet")


class Layout:
    """Names and small files of one log directory.

    ``tail/<first>.parquet`` holds one commit, ``segments/<first>-<last>.parquet`` many old ones.
    Position 0 names a file without rows in both folders, so that a glob never comes back empty.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.tail = directory / "tail"
        self.segments = directory / "segments"
        self.epochs = directory / "epochs"
        self.format = directory / "format.json"

    def tail_path(self, first: int) -> Path:
        """Return the name of the commit that begins at a position."""
        return self.tail / f"{first:020d}.parquet"

    def segment_path(self, first: int, last: int) -> Path:
        """Return the name of the segment that holds these positions."""
        return self.segments / f"{first:020d}-{last:020d}.parquet"

    def tails(self) -> list[int]:
        """Return the first positions of the commits in the tail, in order."""
        found = (_TAIL.fullmatch(name) for name in names_in(self.tail))
        return sorted(first for match in found if match and (first := int(match[1])) > 0)

    def segment_ranges(self) -> list[tuple[int, int]]:
        """Return first and last positions of the segments, in order."""
        found = (_SEGMENT.fullmatch(name) for name in names_in(self.segments))
        ranges = ((int(match[1]), int(match[2])) for match in found if match)
        return sorted(each for each in ranges if each[0] > 0)

    def epoch(self) -> int:
        """Return the newest epoch, 0 when nobody has written yet."""
        return max((int(name) for name in names_in(self.epochs) if name.isdigit()), default=0)

    def campaign_id(self) -> str:
        """Return the campaign of the log.

        Raises:
            NotFoundError: there is no log here.
            InvalidInputError: the log has another format.
            CorruptLogError: the file that says so is damaged.
        """
        try:
            text = self.format.read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFoundError(
                f"no event log in {self.directory}: give the log directory of a campaign"
            ) from error
        except OSError as error:
            raise InvalidInputError(
                f"{self.format} cannot be read ({error.strerror}): allow reading it"
            ) from error
        try:
            stated = json.loads(text)
            # Another version may seal in another way; a flipped bit is no other version.
            fields = read_sealed(self.format) if "seal" in stated else stated
            version = fields["format"]
            campaign_id = fields.get("campaign_id")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptLogError(f"{self.format} is damaged: restore it from a copy") from error
        if version != FORMAT_VERSION:
            raise InvalidInputError(
                f"{self.directory} has log format {version!r}, this Arbor reads format"
                f" {FORMAT_VERSION}: use the Arbor version that wrote it"
            )
        if "seal" not in stated or not isinstance(campaign_id, str):
            raise CorruptLogError(f"{self.format} is damaged: restore it from a copy")
        return campaign_id

    def create(self, campaign_id: str) -> None:
        """Create the log unless it exists.

        Raises:
            InvalidInputError: the directory cannot be written.
            StorageFullError: there is no space.
            CorruptLogError: there are events, but nothing that says of which campaign.
        """
        if not campaign_id.isprintable():
            raise InvalidInputError(
                f"campaign id {campaign_id!r} has control characters: remove them"
            )
        if os.path.lexists(self.format):
            return
        for folder in (self.tail, self.segments, self.epochs):
            make_directory(folder)
        if self.tails() or self.segment_ranges():
            raise CorruptLogError(f"{self.format} is missing: restore it from a copy")
        empty = encode_file(SCHEMA.empty_table(), Extent(0, (), GENESIS_DIGEST, GENESIS_DIGEST))
        stated = {"campaign_id": campaign_id, "format": FORMAT_VERSION}
        for path, data in (
            (self.tail_path(0), empty),
            (self.segment_path(0, 0), empty),
            (self.format, to_sealed(stated)),
        ):
            try:
                publish(data, path)
            except (FileExistsError, FileNotFoundError):
                # Another process was faster.
                if not path.exists():
                    raise

    def claim_epoch(self, clock: Clock) -> int:
        """Become the only writer: claim the next epoch, which fences the writers before.

        Raises:
            InvalidInputError: the directory cannot be written.
            StorageFullError: there is no space.
        """
        while True:
            epoch = self.epoch() + 1
            claim = {
                "claimed_at_us": timestamp_us(clock()),
                "epoch": epoch,
                "host": socket.gethostname(),
                "process_id": os.getpid(),
            }
            try:
                publish(to_sealed(claim), self.epochs / str(epoch))
            except (FileExistsError, FileNotFoundError):
                # Another process was faster; it may also have swept our temporary file away.
                continue
            for folder in (self.directory, self.tail, self.segments, self.epochs):
                sweep_temporary(folder)
            return epoch

    def require_newest(self, epoch: int) -> None:
        """Check that this writer has no successor.

        Raises:
            FencedError: a newer epoch was claimed.
        """
        newest = self.epoch()
        if newest == epoch:
            return
        try:
            claim = read_sealed(self.epochs / str(newest))
            owner = f"process {claim['process_id']} on {claim['host']}"
        except (CorruptLogError, KeyError):
            owner = "another process"
        raise FencedError(
            f"{self.directory} was taken over by {owner} (epoch {newest}): this writer"
            f" (epoch {epoch}) must stop"
        )


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder of a log.

    Raises:
        CorruptLogError: the folder is missing.
        InvalidInputError: it cannot be read.
    """
    try:
        return os.listdir(folder)  # noqa: PTH208 - a Path per name costs more than the listing
    except FileNotFoundError as error:
        raise CorruptLogError(f"{folder} is missing: restore it from a copy") from error
    except OSError as error:
        raise InvalidInputError(
            f"{folder} cannot be read ({error.strerror}): allow reading it"
        ) from error


def to_sealed(fields: Mapping[str, Any]) -> bytes:
    """Return a line of canonical JSON with the digest of the fields in it."""
    seal = sha256(canonical_json(fields).encode()).hexdigest()
    return (canonical_json({**fields, "seal": seal}) + "\n").encode()


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the fields of a file written by ``to_sealed``.

    Raises:
        CorruptLogError: a byte of the file changed, or it cannot be read.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise CorruptLogError(f"{path} is damaged ({error}): restore it from a copy") from error
    return sealed_fields(text, str(path))


def sealed_fields(text: bytes, name: str) -> dict[str, Any]:
    """Return the fields of what ``to_sealed`` gave.

    Args:
        text: the line.
        name: what a message calls it.

    Raises:
        CorruptLogError: a byte of it changed.
    """
    try:
        fields: dict[str, Any] = json.loads(text)
        del fields["seal"]
        if to_sealed(fields) == text:
            return fields
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptLogError(f"{name} is damaged ({error}): restore it from a copy") from error
    raise CorruptLogError(
        f"{name} is damaged (its bytes do not match its seal): restore it from a copy"
    )
