"""Looking back on the command line: moments, differences, branches, tables and their formats."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from arbor.events.base import Recorded
from arbor.replay.projections import SHIPPED
from tests.cli.test_commands import arbor, error, output

EXAMPLES = Path(__file__).parents[2] / "examples" / "projections"
Events = tuple[Recorded, ...]


def test_replay(finished: Path, history: Events) -> None:
    text = output("replay", finished, "--at", 60)
    assert f"position 60 of {len(history)}" in text
    assert "n000 baseline" in text
    assert "costs" in text
    assert "then" in text
    found = json.loads(output("replay", finished, "--at", "+20s", "--json"))
    assert found["position"] < len(history)
    assert json.loads(output("replay", finished, "--json"))["is_ended"]
    assert "goes from 1 to" in error("replay", finished, "--at", 10**6)
    assert "no moment" in error("replay", finished, "--at", "noon")


def test_tree_at_a_time(finished: Path) -> None:
    early, late = (output("tree", finished, "--at", at) for at in ("+15s", "+10000s"))
    assert len(early.splitlines()) < len(late.splitlines())
    assert late == output("tree", finished)
    assert "no moment" in error("tree", finished, "--at", "noon")


def test_diff(finished: Path) -> None:
    text = output("diff", f"{finished}@60", "@+200s")
    assert "position 60" in text
    assert "nodes" in text
    found = json.loads(output("diff", f"{finished}@60", f"{finished}", "--json"))
    assert found["is_same_campaign"]
    assert {change["section"] for change in found["changes"]} >= {"path", "config", "nodes"}
    assert "nothing differs" in output("diff", finished, finished)
    assert "no directory" in error("diff", finished, finished / "none")
    assert "names no directory" in error("diff", "@3", "@4")
    assert "no moment" in error("diff", f"{finished}@soon", finished)


def test_whatif(finished: Path) -> None:
    words = ("whatif", finished, "--at", 60, "--set", "score=as_printed")
    text = output(*words)
    assert "search.score risk_averse -> as_printed" in text
    assert "stopped: " in text
    assert "! orchestrator score" in text
    found = json.loads(output(*words, "--json"))
    assert found["changes"] == [["search.score", "risk_averse", "as_printed"]]
    assert "near it" in error("whatif", finished, "--at", 60, "--set", "scores=1")
    assert "had not begun" in error("whatif", finished, "--at", 1, "--set", "parallel=1")
    assert arbor("whatif", finished, "--at", 60).exit_code == 2


def test_projections_are_listed(finished: Path) -> None:
    text = output("projections", "--projection", EXAMPLES / "longest_silence.py")
    for projection in SHIPPED:
        assert projection.name in text
        query = f"select * from {projection.name}"  # noqa: S608 - our own names
        rows = output("sql", finished, query, "--format", "json")
        assert json.loads(rows), projection.name
    assert "longest_silence" in text


def test_own_projections(finished: Path) -> None:
    words = ("--projection", EXAMPLES / "kept_by_layer.sql", "--format", "json")
    rows = json.loads(output("sql", finished, "select * from kept_by_layer", *words))
    assert sum(row["num_kept"] for row in rows) == 2
    assert "there is no such file" in error("sql", finished, "select 1", "--projection", "no.py")


def test_answers_are_written_to_files(finished: Path, tmp_path: Path) -> None:
    query = "select node_id, effect_ratio from nodes"
    for ending in ("csv", "json", "parquet"):
        output("sql", finished, query, "--out", tmp_path / f"nodes.{ending}")
    expected = json.loads((tmp_path / "nodes.json").read_text())
    assert pq.read_table(tmp_path / "nodes.parquet").to_pylist() == expected
    assert len((tmp_path / "nodes.csv").read_text().splitlines()) == len(expected) + 1
    assert "no ending" in error("sql", finished, query, "--out", tmp_path / "nodes.txt")
    assert "cannot write" in error("sql", finished, query, "--out", tmp_path / "no" / "n.csv")
    wrong = ("--format", "table", "--out", tmp_path / "n.csv")
    assert "for people" in error("sql", finished, query, *wrong)


@pytest.mark.parametrize(
    "query", ["drop table tail", "insert into tail select * from tail", "select 1; select 2"]
)
def test_queries_only_read(finished: Path, query: str) -> None:
    assert "one query that reads" in error("sql", finished, query)


def test_audit_says_which_code_decided(finished: Path) -> None:
    assert "note:" not in output("audit", finished)
