"""Every command on a real campaign, and every mistake as one line with an exit code."""

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from arbor.cli.main import COMMANDS, app
from arbor.core.campaign import Campaign
from arbor.events.base import Recorded
from arbor.events.outcome import ActionKept
from arbor.events.parquet_log import ParquetLog
from arbor.replay.audit import RULES
from arbor.replay.result_models import Result as CampaignResult


def arbor(*words: object, **environment: str) -> Result:
    """Run a command as a shell would, in a pipe."""
    return CliRunner(env=environment).invoke(app, [str(word) for word in words])


def output(*words: object) -> str:
    """Return what a command that succeeds prints."""
    done = arbor(*words)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    return done.stdout


def error(*words: object) -> str:
    """Return the one line of a command that fails."""
    done = arbor(*words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


READERS = (
    ("tree",),
    ("events",),
    ("report",),
    ("audit",),
    ("recheck",),
    ("replay",),
    ("whatif", "--at", "1", "--set", "score=as_printed"),
    ("sql", "select 1"),
    ("export", "--out", "out"),
)


@pytest.mark.parametrize("command", READERS, ids=lambda words: words[0])
def test_mistakes_about_the_directory(command: tuple[str, ...], tmp_path: Path) -> None:
    name, *rest = command
    rest = [str(tmp_path / "out") if word == "out" else word for word in rest]
    assert "no directory" in error(name, tmp_path / "none", *rest) or name == "audit"
    (tmp_path / "file").write_text("x")
    error(name, tmp_path / "file", *rest)
    (tmp_path / "empty").mkdir()
    error(name, tmp_path / "empty", *rest)


def test_log_without_a_campaign(tmp_path: Path) -> None:
    ParquetLog.open(tmp_path / "log", "c").close()
    assert "start was interrupted" in error("tree", tmp_path)


def test_all_commands_have_help() -> None:
    text = output("--help")
    for command in COMMANDS:
        name = command.__name__.replace("_", "-")
        assert name in text
        assert output(name, "--help")


def test_unknown_commands_and_options() -> None:
    for words in (("nonsense",), ("tree",), ("tree", "x", "--nonsense")):
        done = arbor(*words)
        assert done.exit_code == 2
        assert "Traceback" not in done.output


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = arbor("tree", tmp_path / "none", ARBOR_DEBUG="1")
    assert done.exit_code == 1
    assert isinstance(done.exception, LookupError)


def test_tree(finished: Path) -> None:
    text = output("tree", finished)
    assert "n000 baseline" in text
    assert "kept 2" in text
    assert "crashed  ValueError: lossy is not supported when fast is on" in text
    assert "\x1b" not in text
    assert "rebased" not in text
    early = output("tree", finished, "--at", 30)
    assert len(early.splitlines()) < len(text.splitlines())
    assert "exclude each other" in error("tree", finished, "--at", 3, "--follow")


def test_following_an_ended_campaign_ends(finished: Path) -> None:
    text = output("tree", finished, "--follow")
    assert "started  demo" in text
    assert "ended" in text
    lines = output("events", finished, "--follow", "--kind", "CampaignEnded").splitlines()
    assert len(lines) == 1


def test_events(finished: Path, history: tuple[Recorded, ...]) -> None:
    assert len(output("events", finished).splitlines()) == len(history)
    kept = output("events", finished, "--kind", "actionkept", "--json").splitlines()
    fields = [json.loads(line) for line in kept]
    expected = [r for r in history if isinstance(r.event, ActionKept)]
    assert [f["position"] for f in fields] == [r.position for r in expected]
    assert [f["event"] for f in fields] == [r.event.model_dump(mode="json") for r in expected]
    rest = output("events", finished, "--after", len(history) - 3, "--json").splitlines()
    assert len(rest) == 3
    assert "ActionKept" in error("events", finished, "--kind", "ActionKep")


def test_report(finished: Path, tmp_path: Path) -> None:
    result = CampaignResult.model_validate_json(output("report", finished, "--json"))
    assert result.gain is not None
    assert output("report", finished).startswith("# demo: +")
    assert output("report", finished, "--markdown") == output("report", finished)
    page = tmp_path / "page.html"
    assert str(page) in output("report", finished, "--html", page)
    assert page.read_text().startswith("<!doctype html>")
    assert "cannot write" in error("report", finished, "--html", tmp_path / "no" / "x.html")


def test_audit(finished: Path, campaign: Path, tmp_path: Path) -> None:
    noted = tmp_path / "anchors"
    *rules, verdict, head = output("audit", finished, "--anchor", noted).splitlines()
    assert len(rules) == 1 + len(RULES)
    assert verdict.startswith("sound: ")
    anchor = head.removeprefix("head: ")
    assert noted.read_text() == anchor + "\n"
    output("audit", finished, "--against", noted)
    output("audit", finished, "--against", anchor)
    assert "anchors cannot be read" in error("audit", finished, "--against", "12:x")
    assert "elsewhere" in error("audit", finished, "--anchor", finished / "anchors")
    path = max((campaign / "log" / "tail").iterdir())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    done = arbor("audit", campaign)
    assert done.exit_code == 1
    assert "rule log fails at position" in done.stderr
    assert done.stderr.count("\n") == 1
    path.unlink()
    done = arbor("audit", campaign, "--against", anchor)
    assert done.exit_code == 1
    assert "anchor" in done.stderr


def test_sql(finished: Path, history: tuple[Recorded, ...]) -> None:
    query = "select kind, count(*) as n from events group by kind order by n desc, kind"
    table = output("sql", finished, query)
    rows = json.loads(output("sql", finished, query, "--format", "json"))
    assert sum(row["n"] for row in rows) == len(history)
    assert rows[0]["kind"] in table
    read = list(csv.reader(io.StringIO(output("sql", finished, query, "--format", "csv"))))
    assert read[0] == ["kind", "n"]
    assert len(read) == len(rows) + 1
    last = "select max(recorded_at) as at, sum(pair) as pairs from pair_measured"
    [row] = json.loads(output("sql", finished, last, "--format", "json"))
    assert row["at"].startswith("2026-01-01T")
    assert isinstance(row["pairs"], int)
    assert "syntax error" in error("sql", finished, "selec 1")
    assert "nowhere" in error("sql", finished, "select * from nowhere")


def test_export(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "stack"
    assert str(out) in output("export", finished, "--out", out)
    script = (out / "launch.sh").read_text()
    assert script.startswith("#!/bin/sh\n")
    assert "simulation" in script
    assert "not empty" in error("export", finished, "--out", out)


def test_schema_and_version() -> None:
    schema = json.loads(output("schema"))
    assert set(schema["properties"]) == set(Campaign.model_fields)
    assert output("version").startswith("arbor 0.")


def write_campaign(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_plan(tmp_path: Path) -> None:
    path = write_campaign(
        tmp_path / "c.yaml", "target: landscape\nbudget: {wall: 2m}\nsearch: {score: as_printed}\n"
    )
    text = output("plan", path)
    assert "batched_decode" in text
    assert "actions fit in 2 min 00 s with 2 specialists" in text
    assert "exactly as the paper prints it" in text
    assert not list(tmp_path.glob("**/log"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("target: nowhere\n", "unknown target"),
        ("budget: {wall: soon}\n", "no duration"),
        ("tarjet: engine\n", "unknown key"),
        ("[1, 2]\n", "is a mapping"),
        ("a: [", "not valid YAML"),
    ],
)
def test_plan_of_a_wrong_file(tmp_path: Path, text: str, words: str) -> None:
    assert words in error("plan", write_campaign(tmp_path / "c.yaml", text))
    assert "cannot read" in error("plan", tmp_path / "none.yaml")
