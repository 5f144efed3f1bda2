"""`arbor kb show` and what `arbor run --warm-start` says before it starts anything."""

import json
from pathlib import Path

import pytest

from arbor.actors.founding import know_nothing
from arbor.cli.warm_start import gather
from arbor.events.knowledge import KnowledgeImported
from arbor.replay.reading import open_campaign
from tests.cli.test_commands import arbor, error, output


def test_lessons_as_a_table(finished: Path) -> None:
    lines = output("kb", "show", finished).splitlines()
    assert lines[0].split() == [
        "action", "layer", "hardware", "model", "workload",
        "n", "kept", "crash", "gain", "interval", "sources",
    ]  # fmt: skip
    (fast,) = [line for line in lines if line.startswith("fast ")]
    assert "Test CPU" in fast
    assert "default" in fast
    assert fast.endswith("campaig")
    assert lines[-1].endswith("shrunk towards none")
    assert " from 1 campaigns" in lines[-1]


def test_lessons_for_machines(finished: Path) -> None:
    document = json.loads(output("kb", "show", finished, "--json"))
    assert document["schema_version"] == 1
    (source,) = document["sources"]
    assert source["campaign_id"] == "campaign-1"
    assert len(source["digest"]) == 64
    lessons = {each["template_id"]: each for each in document["lessons"]}
    fast = lessons["fast"]
    low, high = fast["interval"]
    assert low < fast["ratio"] < high
    assert fast["sources"] == ["campaign-1"]
    assert fast["scene"]["target"] == "landscape"


def test_mistakes_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no directory" in error("kb", "show", tmp_path / "none")
    assert "holds no campaign" in error("kb", "show", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert "no directory runs" in error("kb", "show")
    assert "no directory" in error("run", "--dir", tmp_path / "new", "--warm-start", "none")
    assert not (tmp_path / "new").exists()


def _break(campaign: Path) -> None:
    tail = max((campaign / "log" / "tail").iterdir())
    tail.write_bytes(tail.read_bytes()[:-9])


def test_damaged_campaigns_are_named_and_left_out(finished: Path, campaign: Path) -> None:
    _break(campaign)
    done = arbor("kb", "show", finished, campaign)
    assert done.exit_code == 0
    assert "fast" in done.stdout
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"{campaign} is left out: ")


def test_a_warm_start_says_what_it_uses(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teach = gather([finished])
    assert f"warm start from {finished}: " in capsys.readouterr().out
    started = open_campaign(finished).started
    assert any(isinstance(event, KnowledgeImported) for event in teach(started))
    assert gather(None) is know_nothing


def test_a_warm_start_from_damage_alone_is_a_cold_one(
    finished: Path, campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _break(campaign)
    teach = gather([campaign])
    said = capsys.readouterr()
    assert said.out == "warm start: no campaign is left to learn from; this one starts cold\n"
    assert said.err.count("\n") == 1
    assert teach(open_campaign(finished).started) == ()
