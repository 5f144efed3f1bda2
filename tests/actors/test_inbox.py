"""The inbox: commands are durable, in order, whole or refused."""

from pathlib import Path

from arbor.actors.inbox import Inbox
from arbor.events.base import Draft
from arbor.events.campaign import CampaignPaused
from arbor.events.ids import uuid7
from arbor.events.limits import ActionVetoed
from tests.fakes.recording import START

VETO = ActionVetoed(action_id="a001", reason="nö", by="human:ann")


def _draft(event_id: str | None = None, actor: str = "human:ann") -> Draft:
    return Draft(VETO, event_id or uuid7(START), actor)


def test_what_is_put_comes_out_in_order(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "inbox")
    assert list(inbox.waiting()) == []
    drafts = [_draft(), Draft(CampaignPaused(reason="x"), uuid7(START), "human:bob")]
    for draft in drafts:
        inbox.put(draft)
    found = {letter.event_id: letter.draft for letter in inbox.waiting()}
    assert found == {draft.event_id: draft for draft in drafts}
    assert list(found) == sorted(found)
    inbox.remove(drafts[0].event_id)
    inbox.remove(drafts[0].event_id)
    assert [letter.draft for letter in inbox.waiting()] == [drafts[1]]


def test_what_arbor_did_not_write_is_no_command(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path)
    good = _draft()
    inbox.put(good)
    path = tmp_path / f"{good.event_id}.json"
    (tmp_path / "note.json").write_text("{}")
    (tmp_path / f".{uuid7(START)}.json.ab.tmp").write_text("half")
    (tmp_path / f"{uuid7(START)}.json").write_bytes(path.read_bytes())
    path.write_text(path.read_text().replace("a001", "a002"))
    inbox.put(_draft(actor="orchestrator"))
    letters = list(inbox.waiting())
    assert len(letters) == 4
    assert all(letter.draft is None for letter in letters)


def test_a_refusal_is_read_once(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path)
    draft = _draft()
    inbox.put(draft)
    assert inbox.take_refusal(draft.event_id) is None
    inbox.refuse(draft.event_id, "it is over")
    assert list(inbox.waiting()) == []
    assert inbox.take_refusal(draft.event_id) == "it is over"
    assert inbox.take_refusal(draft.event_id) is None
    assert list(tmp_path.iterdir()) == []
