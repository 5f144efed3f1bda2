"""The live view: every notable thing once in a pipe, a picture on a terminal."""

import io
from collections import Counter

from rich.console import Console

from arbor.cli.progress import ProgressView
from arbor.cli.text import one_line
from arbor.cli.tree_view import tree_view
from arbor.core.state import CampaignState
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignPaused, CampaignResumed
from arbor.events.evidence import PairMeasured
from arbor.events.life import HealthReported
from arbor.events.limits import ActionApproved, ActionVetoed
from arbor.events.outcome import ActionReverted
from arbor.events.settings import SearchSettings, Settings
from arbor.events.types import Layer
from arbor.replay.wording import duration
from tests.fakes.stage import Stage, template
from tests.replay.recorded import changed


def piped(events: tuple[Recorded, ...], after: int = 0) -> list[str]:
    out = io.StringIO()
    view = ProgressView(Console(file=out, width=60), lambda: events[-1].recorded_at)
    state = CampaignState()
    for recorded in events:
        state.apply(recorded)
        if recorded.position > after:
            view.update(state, recorded.recorded_at)
    view.close()
    view.close()
    return out.getvalue().splitlines()


def drawn(events: tuple[Recorded, ...], height: int = 40) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=110, height=height, _environ={})
    view = ProgressView(console, lambda: events[-1].recorded_at)
    state = CampaignState()
    view.update(state)
    for recorded in events:
        state.apply(recorded)
    view.update(state)
    view.close()
    return out.getvalue()


def test_every_notable_thing_once(history: tuple[Recorded, ...]) -> None:
    lines = piped(history)
    assert max(Counter(lines).values()) == 1
    words = Counter(line.split()[2] for line in lines)
    assert words["started"] == words["noise"] == words["final"] == words["claim"] == 1
    assert words["kept"] == 2
    assert words["crashed"] == words["cause"] == words["limit"] == 1
    assert words["ended"] == 1
    assert any("+" in line and "%" in line and "[" in line for line in lines if " kept " in line)
    assert all(line.split()[1] == "s" for line in lines)


def test_resumed_campaign_is_summed_up(history: tuple[Recorded, ...]) -> None:
    lines = piped(history, after=len(history) // 2)
    assert "resumed  at position" in lines[1]
    assert not any(" noise " in line for line in lines)


def test_picture_of_every_moment(history: tuple[Recorded, ...]) -> None:
    for cut in range(1, len(history), 31):
        assert "demo" in drawn(history[:cut]) or cut < 3


def test_picture_shows_the_measurement_under_way(history: tuple[Recorded, ...]) -> None:
    pairs = [r for r in history if isinstance(r.event, PairMeasured) and r.event.pair == 3]
    measured = drawn(history[: pairs[1].position])
    assert "bench" in measured
    assert "3 pairs" in measured
    assert "time goes to" in measured


def test_small_screen_shows_the_end_of_the_tree(history: tuple[Recorded, ...]) -> None:
    assert "earlier lines" in drawn(history, height=12)


def test_escape_sequences_of_servers_never_reach_the_terminal(
    history: tuple[Recorded, ...],
) -> None:
    reverted = next(r for r in history if isinstance(r.event, ActionReverted))
    events = changed(history, reverted.position, reason="\x1b[2J[bold]x[/bold]\x07")
    lines = piped(events)
    assert any("[2J[bold]x[/bold]" in line for line in lines)
    assert "\x1b" not in "".join(lines)
    assert "\x1b[2J" not in drawn(events)


def test_foreign_text_is_one_line() -> None:
    assert one_line("a\nb\x1b[0m\u202e c") == "a b [0m c"
    assert one_line("x" * 300, 10) == "x" * 9 + "…"


def test_durations() -> None:
    assert duration(8.06) == "8.1 s"
    assert duration(245) == "4 min 05 s"
    assert duration(3 * 3600 + 12 * 60) == "3 h 12 min"


def test_what_people_say_is_told_once() -> None:
    stage = Stage(
        template("a"),
        template("b", Layer.FRAMEWORK),
        settings=Settings(search=SearchSettings(require_approval=("b",))),
    )
    stage.open()
    stage.keep("a")
    approved = ActionApproved(action_id=stage.action_of("b"), by="ann")
    stage.say(CampaignPaused(reason="lunch"), approved)
    stage.say(HealthReported(subject="x", is_healthy=True, detail="meanwhile"))
    stage.say(CampaignResumed(reason="back"))
    stage.turn()
    stage.keep("b")
    stage.say(ActionVetoed(action_id=stage.action_of("a"), reason="no", by="human:ann"))
    stage.turn()
    lines = [line.split("s  ", 1)[1] for line in piped(stage.events())]
    assert "waits    a002 b: for `arbor approve`" in lines
    assert "approved a002 b: by ann" in lines
    assert lines.count("paused   nothing new is dispatched") == 1
    assert "revoked  n001 a: vetoed: no" in lines
    assert "proposed a003 rebuild_a003: the keep of n001 was revoked" in lines
    state = stage.state
    text = Console(file=io.StringIO(), width=110, record=True)
    text.print(tree_view(state))
    shown = text.export_text()
    assert "a001 a  revoked  vetoed by human:ann  vetoed: no" in shown
    assert "rebuilt from" in shown
    assert "approved by ann" in shown
