"""The log in an object store keeps the contract, against a real S3-compatible server."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from arbor.events.errors import CorruptLogError, FencedError, InvalidInputError, NotFoundError
from arbor.events.ledger import Clock
from arbor.events.log import EventLog
from arbor.events.object_log import ObjectLog, ObjectReader, tail_name
from arbor.events.object_store import ObjectStore
from tests.contracts.event_log import EventLogContract, MakeLog, draft

boto3 = pytest.importorskip("boto3")
moto_server = pytest.importorskip("moto.server")
_PREFIXES = count(1)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of a server on loopback that has one bucket."""
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        found = boto3.client(
            "s3",
            endpoint_url=f"http://{host}:{port}",
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106 - the server on loopback takes any
            region_name="us-east-1",
        )
        found.create_bucket(Bucket="logs")
        yield found
    finally:
        server.stop()


@pytest.fixture
def store(client: Any) -> ObjectStore:
    return ObjectStore(client, "logs", f"campaign-{next(_PREFIXES)}/log")


class TestObjectLog(EventLogContract):
    """The contract."""

    @pytest.fixture
    def make_log(self, store: ObjectStore) -> Iterator[MakeLog]:
        opened: list[ObjectLog] = []

        def make(clock: Clock) -> EventLog:
            opened.append(ObjectLog.open(store, "c1", clock))
            return opened[-1]

        yield make
        for log in opened:
            log.close()
            reader = ObjectReader(store)
            assert list(reader.read()) == list(log.read()), "the store holds what memory says"
            assert reader.head() == log.head()


def test_an_object_is_written_once(store: ObjectStore) -> None:
    assert store.put("a", b"1")
    assert not store.put("a", b"2")
    assert store.put("a", b"1"), "the answer to the first try may have been lost"
    assert store.get("a") == b"1"
    with pytest.raises(FileNotFoundError):
        store.get("b")


def test_names_are_listed_beyond_a_name(store: ObjectStore) -> None:
    for number in (0, 7, 1204):
        store.put(f"tail/{number:05d}", b"")
    assert store.names("tail") == ["00000", "00007", "01204"]
    assert store.names("tail", "00007") == ["01204"]
    assert store.names("other") == []


def test_the_older_writer_is_fenced(store: ObjectStore) -> None:
    older = ObjectLog.open(store, "c1")
    older.append([draft(1)])
    newer = ObjectLog.open(store, "c1")
    with pytest.raises(FencedError, match="epoch 2"):
        older.append([draft(2)])
    assert newer.append([draft(2), draft(3)]) == (2, 3), "what was stored is not stored twice"
    reader = ObjectReader(store)
    assert [each.epoch for each in reader.read()] == [1, 1, 2]
    assert [each.position for each in reader.read(after=1)] == [2, 3]
    assert not reader.wait_beyond(3, timeout_s=0)


def test_damage_and_other_logs_are_refused(store: ObjectStore, client: Any) -> None:
    with pytest.raises(NotFoundError):
        ObjectLog.open(store, "c1", create=False)
    log = ObjectLog.open(store, "c1")
    log.append([draft(1)])
    with pytest.raises(InvalidInputError, match="belongs to campaign 'c1'"):
        ObjectLog.open(store, "c2")
    key = f"{str(store).removeprefix('s3://logs/')}/{tail_name(1)}"
    data = bytearray(store.get(tail_name(1)))
    data[len(data) // 2] ^= 1
    client.put_object(Bucket="logs", Key=key, Body=bytes(data))
    with pytest.raises(CorruptLogError, match="damaged"):
        ObjectLog.open(store, "c1")


def test_an_address_is_checked() -> None:
    for url in ("s3://", "s3://bucket", "http://bucket/x", "bucket/x"):
        with pytest.raises(InvalidInputError, match="give s3://"):
            ObjectStore.connect(url)
