"""SQL sees the same campaign as Python, while it runs and afterwards, and touches nothing else."""

import os
import shutil
from pathlib import Path

import duckdb
import pytest

from arbor.core.state import CampaignState
from arbor.events.base import Recorded
from arbor.events.choice import ActionScored
from arbor.events.errors import InvalidInputError
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader
from arbor.replay.database import CampaignDatabase
from arbor.replay.source import RAW_EVENTS
from arbor.replay.typed_views import event_classes, view_name
from tests.replay.recorded import rewrite


def python_tree(events: tuple[Recorded, ...]) -> list[tuple[object, ...]]:
    state = CampaignState()
    for recorded in events:
        state.apply(recorded)
    return [
        (
            node.node_id,
            node.parent_id,
            node.action_id,
            node.template_id,
            str(node.status),
            node.commit,
            *(
                (node.effect.ratio, node.effect.low, node.effect.high)
                if node.effect
                else (None,) * 3
            ),
        )
        for node in state.tree.nodes.values()
    ]


def sql_tree(database: CampaignDatabase) -> list[tuple[object, ...]]:
    return list(
        database.query("select * exclude (created_at) from nodes order by created_at").rows
    )


def cut(campaign: Path, out: Path, position: int) -> ParquetReader:
    """Return a reader of a copy of the log without the commits that begin beyond a position."""
    shutil.copytree(campaign / "log", out, copy_function=os.link)
    for path in (out / "tail").iterdir():
        if int(path.stem) > position:
            path.unlink()
    return ParquetReader(out)


def test_trees_are_equal_at_any_position(
    finished: Path, history: tuple[Recorded, ...], tmp_path: Path
) -> None:
    for number, position in enumerate(range(1, len(history) + 1, 53)):
        reader = cut(finished, tmp_path / str(number), position)
        with CampaignDatabase(reader) as database:
            assert sql_tree(database) == python_tree(history[: database.position])


def test_trees_are_equal_after_vetoes_revocations_and_kills(
    eventful_log: tuple[Recorded, ...], tmp_path: Path
) -> None:
    rewrite(eventful_log, tmp_path / "whole")
    cuts = {r.position for r in eventful_log if r.event.area in {"limits", "judgement"}}
    cuts |= {r.position for r in eventful_log if r.event.kind in {"Crashed", "ActionWithdrawn"}}
    for position in [*sorted(cuts)[::9], len(eventful_log)]:
        reader = cut(tmp_path / "whole", tmp_path / str(position), position)
        with CampaignDatabase(reader) as database:
            assert sql_tree(database) == python_tree(eventful_log[: database.position])


def test_catching_up_equals_rebuilding(
    finished: Path, history: tuple[Recorded, ...], tmp_path: Path
) -> None:
    reader = cut(finished, tmp_path / "log", 60)
    with CampaignDatabase(reader) as database:
        before = database.position
        for path in (finished / "log" / "tail").iterdir():
            if not (tmp_path / "log" / "tail" / path.name).exists():
                shutil.copy(path, tmp_path / "log" / "tail" / path.name)
        assert database.catch_up() == len(history) - before
        assert database.catch_up() == 0
        assert sql_tree(database) == python_tree(history)
        count = "select count(*), count(distinct position), max(position) from events"
        assert database.query(count).rows == ((len(history),) * 3,)


def test_compaction_changes_nothing(history: tuple[Recorded, ...], tmp_path: Path) -> None:
    rewrite(history[:80], tmp_path)
    log = ParquetLog.open(tmp_path / "log", "campaign-1", grace_s=0.0)
    with CampaignDatabase(ParquetReader(tmp_path / "log")) as database:
        log.compact()
        assert database.catch_up() == 0
    with CampaignDatabase(ParquetReader(tmp_path / "log")) as database:
        assert database.query("select count(*) from events").rows == ((80,),)
    log.close()


def test_every_kind_has_a_typed_view(finished: Path, history: tuple[Recorded, ...]) -> None:
    with CampaignDatabase(ParquetReader(finished / "log")) as database:
        for event_class in event_classes():
            kind = event_class.__name__
            query = f"select count(*) from {view_name(kind)}"  # noqa: S608 - our own names
            rows = database.query(query).rows
            assert rows == ((sum(r.event.kind == kind for r in history),),)
        described = dict(row[:2] for row in database.query("describe benchmark_measured").rows)
    assert described["effect_ratio"] == "DOUBLE"
    assert described["effect_num_pairs"] == "BIGINT"
    assert described["has_witness"] == "BOOLEAN"
    assert described["recorded_at"] == "TIMESTAMP WITH TIME ZONE"


def test_typed_values_are_the_events_values(finished: Path, history: tuple[Recorded, ...]) -> None:
    with CampaignDatabase(ParquetReader(finished / "log")) as database:
        text = "select position, score, form, terms_gap_ratio from action_scored order by 1"
        rows = database.query(text).rows
    assert rows == tuple(
        (r.position, r.event.score, r.event.form, r.event.terms.gap_ratio)
        for r in history
        if isinstance(r.event, ActionScored)
    )


def test_raw_files_give_the_same_rows(finished: Path) -> None:
    raw = duckdb.connect().execute(RAW_EVENTS.format(log=finished / "log"))
    rows = [row[:2] for row in raw.fetchall()]
    with CampaignDatabase(ParquetReader(finished / "log")) as database:
        assert list(database.query("select position, event_id from events").rows) == rows


@pytest.mark.parametrize(
    "text",
    [
        "select",
        "select * from nowhere",
        "copy events to '/tmp/arbor-test.csv'",
        "select * from read_csv('/etc/passwd')",
        "attach '/tmp/arbor-test.db'",
        "set enable_external_access = true",
    ],
)
def test_bad_or_greedy_queries_are_one_line(finished: Path, text: str) -> None:
    with CampaignDatabase(ParquetReader(finished / "log")) as database:
        with pytest.raises(InvalidInputError, match="SQL: ") as caught:
            database.query(text)
        assert "\n" not in str(caught.value)


def test_view_names() -> None:
    assert view_name("ActionKept") == "action_kept"
    assert view_name("Crashed") == "crashed"
