"""The check of a shared directory sees what a campaign on several nodes would suffer from."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from arbor.actors.shared_directory import Token, gather, leave_token, look, refusal, sweep
from arbor.events.errors import InvalidInputError

LIMIT_S = 0.2


class Node(threading.Thread):
    """A node that looks, and remembers what it found."""

    def __init__(self, token: Token, name: str, limit_s: float = 20.0) -> None:
        super().__init__(daemon=True)
        self._arguments = (token, name, limit_s)
        self.found: str | None = "it has not looked"

    def run(self) -> None:
        """Look."""
        self.found = look(*self._arguments)


def test_nodes_that_share_find_nothing_wrong(tmp_path: Path) -> None:
    token = leave_token(tmp_path / "campaign")
    nodes = [Node(token, name) for name in ("a", "b", "c")]
    for node in nodes:
        node.start()
    assert gather(token, ["a", "b", "c"], 20.0) == set()
    for node in nodes:
        node.join()
        assert node.found is None
    sweep(token)
    assert not token.folder.exists()


def test_a_node_without_the_directory(tmp_path: Path) -> None:
    token = leave_token(tmp_path / "campaign")
    elsewhere = replace(token, folder=tmp_path / "local" / "campaign" / "nodes")
    assert look(elsewhere, "a", LIMIT_S) == "does not see it"
    assert gather(token, ["a"], LIMIT_S) == {"a"}


def test_a_node_with_another_directory_of_that_name(tmp_path: Path) -> None:
    token = leave_token(tmp_path / "campaign")
    assert look(replace(token, content="other"), "a", LIMIT_S) == "sees another one there"


def test_a_node_that_may_not_write(tmp_path: Path) -> None:
    token = leave_token(tmp_path / "campaign")
    # The name of its answer is taken: the same as a directory that cannot be written.
    token.answer("a").write_bytes(b"")
    assert "cannot write there" in (look(token, "a", LIMIT_S) or "")


def test_a_node_that_sees_appends_too_late(tmp_path: Path) -> None:
    token = leave_token(tmp_path / "campaign")
    found = look(token, "a", LIMIT_S)
    assert found is not None
    assert "does not see within 0.2 s what others append" in found


def test_a_campaign_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidInputError):
        leave_token(tmp_path / "file")


def test_the_refusal_names_the_node_and_the_fix(tmp_path: Path) -> None:
    error = str(refusal(tmp_path, "gpu7 (abcd)", "does not see it"))
    assert f"{tmp_path}: node gpu7 (abcd) does not see it; give --dir on a disk that all" in error
    assert "\n" not in error


def test_a_late_answer_keeps_the_folder_and_harms_nobody(tmp_path: Path) -> None:
    token = leave_token(tmp_path / "campaign")
    (token.folder / "other.late.here").write_bytes(b"")
    sweep(token)
    assert [path.name for path in token.folder.iterdir()] == ["other.late.here"]
