"""A synthetic log is a log: it can be folded, and SQL sees the same tree in it as Python."""

from pathlib import Path

from arbor.core.layout import CampaignDirectory
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.parquet_reader import ParquetReader
from arbor.replay.database import CampaignDatabase
from benchmarks.synthetic_log import write_log
from tests.replay.projections.test_shipped import python_tree

NUM_EVENTS = 6_000


def test_it_folds_and_both_trees_are_equal(tmp_path: Path) -> None:
    write_log(tmp_path, NUM_EVENTS)
    reader = ParquetReader(CampaignDirectory(tmp_path).log)
    events = tuple(reader.read())
    assert len(events) == NUM_EVENTS
    state = CampaignState()
    for recorded in events:
        state.apply(recorded)
    statuses = {node.status for node in state.tree.nodes.values()}
    assert statuses >= {Status.KEPT, Status.REVERTED, Status.CRASHED}
    with CampaignDatabase(reader) as database:
        query = "select * exclude (created_at) from nodes order by created_at"
        assert list(database.query(query).rows) == python_tree(events)
