"""Blobs are durable, named by their content, and checked when read."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from errno import EIO
from hashlib import sha256
from pathlib import Path

import pytest

from arbor.events.blobs import BlobStore
from arbor.events.errors import (
    CorruptLogError,
    InvalidInputError,
    LogError,
    NotFoundError,
    StorageFullError,
)
from tests.events.disks import Freeze
from tests.events.failing_syscalls import fail_in_this_thread


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


@pytest.mark.parametrize("data", [b"", b"body", bytes(3_000_000)])
def test_gives_back_what_was_put(blobs: BlobStore, data: bytes) -> None:
    digest = blobs.put(data)
    assert digest == sha256(data).hexdigest()
    assert digest in blobs
    assert blobs.get(digest) == data
    assert BlobStore(blobs.directory).get(digest) == data


def test_putting_again_changes_nothing(blobs: BlobStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        digests = set(pool.map(blobs.put, [b"same"] * 40))
    assert digests == {blobs.put(b"same")}
    assert sum(each.is_file() for each in blobs.directory.rglob("*")) == 1


def test_unknown_and_impossible_digests(blobs: BlobStore) -> None:
    with pytest.raises(NotFoundError, match="no blob 000"):
        blobs.get("0" * 64)
    assert "0" * 64 not in blobs
    for digest in ("../../etc/passwd", "0" * 63, "A" * 64, ""):
        with pytest.raises(InvalidInputError, match="no blob digest"):
            blobs.get(digest)


def test_damage_is_found_and_healed(blobs: BlobStore) -> None:
    digest = blobs.put(b"body")
    (path,) = (each for each in blobs.directory.rglob(digest))
    path.write_bytes(b"bodx")
    with pytest.raises(CorruptLogError, match="is damaged"):
        blobs.get(digest)
    assert blobs.put(b"body") == digest
    assert blobs.get(digest) == b"body"


def test_a_full_disk_stores_nothing(small_disk: Path) -> None:
    blobs = BlobStore(small_disk / "blobs")
    kept = blobs.put(b"kept")
    with pytest.raises(StorageFullError, match="free space"):
        blobs.put(os.urandom(200_000))
    assert [each.name for each in blobs.directory.rglob("*") if each.is_file()] == [kept]
    (small_disk / "ballast").unlink()
    body = os.urandom(100_000)
    assert blobs.get(blobs.put(body)) == body


def test_an_unconfirmed_body_is_not_acknowledged(blobs: BlobStore) -> None:
    blobs.put(b"first")

    def put() -> None:
        fail_in_this_thread("fsync", EIO)
        blobs.put(b"second")

    with ThreadPoolExecutor(1) as pool, pytest.raises(LogError, match=r"fsync of .* failed"):
        pool.submit(put).result(30)


def test_a_read_only_store_is_read(blobs: BlobStore, freeze: Freeze) -> None:
    digest = blobs.put(b"body")
    freeze(blobs.directory)
    assert blobs.get(digest) == b"body"
    with pytest.raises(InvalidInputError):
        blobs.put(b"other")


def test_only_old_temporary_files_are_swept(blobs: BlobStore) -> None:
    blobs.put(b"body")
    incoming = blobs.directory / "incoming"
    (incoming / ".dead.tmp").touch()
    (incoming / ".alive.tmp").touch()
    long_ago = time.time() - 100_000
    os.utime(incoming / ".dead.tmp", (long_ago, long_ago))
    BlobStore(blobs.directory)
    assert [each.name for each in incoming.iterdir()] == [".alive.tmp"]
