"""Many waiting appends are one commit, and every one of them gets its own answer."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from arbor.events.encoding import Batch
from arbor.events.errors import ConflictError, FencedError, LogError, StorageFullError
from arbor.events.group_commit import GroupCommit, Outcome

EMPTY = Batch((), None)


class Storage:
    """Holds the first commit until it is released, and answers as it is told."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.entered = threading.Event()
        self.released = threading.Event()
        self.error: Exception | None = None
        self.num_ends = 0

    def commit(self, batches: Sequence[Batch]) -> Sequence[Outcome]:
        self.sizes.append(len(batches))
        self.entered.set()
        assert self.released.wait(30)
        if self.error is not None:
            raise self.error
        return [(number,) for number in range(1, len(batches) + 1)]

    def end(self) -> None:
        self.num_ends += 1


def test_those_who_wait_share_the_next_commit() -> None:
    storage = Storage()
    group = GroupCommit(storage.commit, storage.end)
    with ThreadPoolExecutor(5) as pool:
        leader = pool.submit(group.submit, EMPTY)
        assert storage.entered.wait(30)
        others = [pool.submit(group.submit, EMPTY) for _ in range(4)]
        while group.num_waiting < 4:
            pass
        storage.released.set()
        assert leader.result(30) == (1,)
        assert sorted(each.result(30) for each in others) == [(1,), (2,), (3,), (4,)]
    assert storage.sizes == [1, 4]


@pytest.mark.parametrize(
    ("error", "is_end"),
    [
        (StorageFullError("full"), False),
        (OSError("odd"), False),
        (FencedError("successor"), True),
    ],
)
def test_an_error_reaches_the_caller(error: Exception, is_end: bool) -> None:
    storage = Storage()
    storage.released.set()
    storage.error = error
    group = GroupCommit(storage.commit, storage.end)
    with pytest.raises(LogError, match=str(error)):
        group.submit(EMPTY)
    assert group.is_ended == is_end
    storage.error = None
    if is_end:
        with pytest.raises(FencedError):
            group.submit(EMPTY)
    else:
        assert group.submit(EMPTY) == (1,)


def test_one_refused_batch_is_one_refusal() -> None:
    refusal = ConflictError("action:a", 3)
    group = GroupCommit(lambda batches: [refusal for _ in batches], lambda: None)
    with pytest.raises(ConflictError):
        group.submit(EMPTY)
    assert not group.is_ended


def test_closing_twice_ends_once() -> None:
    storage = Storage()
    storage.released.set()
    group = GroupCommit(storage.commit, storage.end)
    group.close()
    group.close()
    assert storage.num_ends == 1
    with pytest.raises(LogError, match="closed"):
        group.submit(EMPTY)
