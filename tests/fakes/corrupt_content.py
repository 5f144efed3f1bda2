"""Corruptions of what a log says, with all digests right; one function each."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.fakes.corrupting import forge
from tests.fakes.forged_log import ForgedLog, with_values

# The whole log, chained


def clock_set_back_in_the_middle(path: Path) -> None:
    """Clock set back in the middle."""
    forged = ForgedLog(path / "log")
    at = len(forged.commits) // 2
    forged.commits[at] = with_values(
        forged.commits[at], "recorded_at", lambda time: time.replace(year=1999)
    )
    forged.write()


def commit_left_out(path: Path) -> None:
    """Commit left out."""
    forged = ForgedLog(path / "log")
    del forged.commits[len(forged.commits) // 2]
    forged.write()


def commits_exchanged(path: Path) -> None:
    """Commits exchanged."""
    forged = ForgedLog(path / "log")
    at = len(forged.commits) // 2
    forged.commits[at : at + 2] = forged.commits[at + 1], forged.commits[at]
    forged.write()


def first_events_cut_off(path: Path) -> None:
    """First events cut off."""
    forged = ForgedLog(path / "log")
    forged.commits = forged.commits[5:]
    forged.write()


def columns_against_payloads(path: Path) -> None:
    """Columns against payloads."""
    forged = ForgedLog(path / "log")
    forged.commits = [with_values(each, "node_id", lambda _: None) for each in forged.commits]
    forged.write()


def tags_removed(path: Path) -> None:
    """Tags removed."""
    forged = ForgedLog(path / "log")
    forged.commits = [with_values(each, "tags", lambda _: []) for each in forged.commits]
    forged.write()


def score_raised(path: Path) -> None:
    """Score raised."""
    forge(path, "ActionScored", lambda fields: fields.update(score=fields["score"] + 1.0))


def term_of_a_score_changed(path: Path) -> None:
    """Term of a score changed."""

    def change(fields: dict[str, Any]) -> None:
        fields["terms"]["exploration"] *= 3.0

    forge(path, "ActionScored", change)


def effect_raised(path: Path) -> None:
    """Effect raised."""

    def change(fields: dict[str, Any]) -> None:
        fields["effect"].update(ratio=3.0, low=2.5, high=3.5)

    forge(path, "BenchmarkMeasured", change)


def window_raised(path: Path) -> None:
    """Window raised."""

    def change(fields: dict[str, Any]) -> None:
        fields["candidate"]["throughput_tok_s"] *= 2.0

    forge(path, "PairMeasured", change)


def verdict_turned(path: Path) -> None:
    """Verdict turned."""
    forge(path, "MeasurementJudged", lambda f: f.update(is_accepted=not f["is_accepted"]))


def author_of_a_keep_changed(path: Path) -> None:
    """Author of a keep changed."""
    forged = ForgedLog(path / "log")

    def critic(table: pa.Table) -> pa.Table:
        is_keep = "ActionKept" in table.column("kind").to_pylist()
        return with_values(table, "actor", lambda _: "critic") if is_keep else table

    forged.commits = [critic(each) for each in forged.commits]
    forged.write()


def decision_moved_to_an_earlier_state(path: Path) -> None:
    """Decision moved to an earlier state."""
    forged = ForgedLog(path / "log")

    def earlier(table: pa.Table) -> pa.Table:
        if "ActionDispatched" not in table.column("kind").to_pylist():
            return table
        return with_values(table, "decided_after", lambda at: at - 3)

    forged.commits = [earlier(each) for each in forged.commits]
    forged.write()


def settings_changed_at_the_start(path: Path) -> None:
    """Settings changed at the start."""

    def change(fields: dict[str, Any]) -> None:
        fields["settings"]["search"]["exploration"] = 0.5

    forge(path, "CampaignStarted", change)


def prior_changed_at_the_start(path: Path) -> None:
    """Prior changed at the start."""

    def change(fields: dict[str, Any]) -> None:
        fields["actions"][0]["prior_speedup_ratio"] = 9.0

    forge(path, "CampaignStarted", change)


def digest_of_a_blob_changed(path: Path) -> None:
    """Digest of a blob changed."""
    forge(path, "PatchProposed", lambda fields: fields.update(diff_digest="0" * 64))


def commit_of_a_patch_changed(path: Path) -> None:
    """Commit of a patch changed."""
    forge(path, "PatchProposed", lambda fields: fields.update(commit="1" * 40))
