"""Lines about an actor's running: JSON, and never the reason that it breaks."""

import json
from pathlib import Path

from arbor.actors.operations_log import operations_log
from arbor.core.layout import CampaignDirectory


def test_lines_are_json_with_actor_and_time(tmp_path: Path) -> None:
    say = operations_log(tmp_path, "bench")
    say.info("request", request_id="r001")
    try:
        int("broken")
    except ValueError:
        say.exception("run broke")
    lines = (CampaignDirectory(tmp_path).logs / "bench.jsonl").read_text().splitlines()
    first, second = (json.loads(line) for line in lines)
    assert (first["actor"], first["event"], first["request_id"]) == ("bench", "request", "r001")
    assert first["timestamp"].endswith("Z")
    assert "ValueError: invalid literal" in second["exception"]


def test_a_folder_that_cannot_be_written_loses_the_lines_only(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file is in the way")
    operations_log(tmp_path, "bench").info("request")
    assert (tmp_path / "logs").read_text() == "a file is in the way"
