"""Fifty ways to corrupt a campaign's directory: each is named in one line by log or audit.

Flipped bytes are covered elsewhere. Whoever does these knows the format: where it says "sealed",
the seal of the file is right again, where it says "chained", all digests of the log are.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from arbor.actors.ownership import write_campaign_file
from arbor.core.campaign import dump_campaign
from arbor.events.errors import ArborError
from arbor.replay.audit import RULES, audit
from arbor.replay.report import write_reports
from tests.fakes import corrupt_content as content
from tests.fakes import corrupt_files as files
from tests.fakes import corrupt_surroundings as around
from tests.fakes.corrupting import lone_tails, segments
from tests.fakes.forged_log import ForgedLog, with_values
from tests.replay.recorded import campaign_of, record

Corrupt = Callable[[Path], None]
COMPACT_AFTER = 60


@dataclass(frozen=True)
class Corruption:
    """One way to corrupt a directory, and words that the audit must find for it."""

    corrupt: Corrupt
    words: str
    rule: str = "log"

    @property
    def name(self) -> str:
        """Its name in the list of tests."""
        return self.corrupt.__name__.lstrip("_")


CORRUPTIONS = (
    Corruption(files.segment_removed_with_its_commits, "are missing"),
    Corruption(files.segments_swapped, "holds other positions"),
    Corruption(files.old_segment_replayed_at_the_end, "holds other positions"),
    Corruption(files.old_segment_replayed_and_renumbered, "before the event before it"),
    Corruption(files.segment_duplicated_under_a_longer_name, "holds other positions"),
    Corruption(files.tail_removed_in_the_middle, "missing"),
    Corruption(files.tails_swapped, "holds other positions"),
    Corruption(files.tail_renamed_to_another_position, "holds other positions"),
    Corruption(files.tail_replaced_by_the_one_before, "holds other positions"),
    Corruption(files.footer_truncated, "seal"),
    Corruption(files.file_emptied, "seal"),
    Corruption(files.file_zeroed, "seal"),
    Corruption(files.bytes_appended, "seal"),
    Corruption(files.file_rewritten_by_another_tool, "seal"),
    Corruption(files.file_of_text_in_the_tail, "seal"),
    Corruption(files.file_replaced_by_a_folder, "cannot be read"),
    Corruption(files.file_of_columns_removed, "is missing"),
    Corruption(files.rows_reordered, "where"),
    Corruption(files.rows_reordered_under_their_positions, "do not give"),
    Corruption(files.row_removed, "misses rows"),
    Corruption(files.row_doubled, "misses rows"),
    Corruption(files.payload_edited_and_sealed, "do not give"),
    Corruption(files.actor_edited_and_sealed, "do not give"),
    Corruption(files.time_edited_and_sealed, "do not give"),
    Corruption(
        files.copy_of_a_commit_edited_beside_its_segment, "differs from another copy|does not"
    ),
    Corruption(files.epoch_renamed, "claims another epoch"),
    Corruption(files.epoch_removed, "is missing|nobody claimed"),
    Corruption(files.epoch_in_between_removed, "is missing"),
    Corruption(files.epoch_edited, "seal"),
    Corruption(files.epoch_edited_and_sealed, "claims another epoch"),
    Corruption(files.campaign_renamed_and_sealed, "disagree"),
    Corruption(files.format_removed, "no event log"),
    Corruption(files.format_number_raised, "log format 3"),
    Corruption(content.clock_set_back_in_the_middle, "before the event before it"),
    Corruption(content.commit_left_out, "", rule="*"),
    Corruption(content.commits_exchanged, "", rule="*"),
    Corruption(content.first_events_cut_off, "", rule="*"),
    Corruption(content.columns_against_payloads, "disagree"),
    Corruption(content.tags_removed, "is tagged", rule="tags"),
    Corruption(content.score_raised, "its terms give", rule="scores"),
    Corruption(content.term_of_a_score_changed, "exploration", rule="decisions"),
    Corruption(content.effect_raised, "as its pairs give", rule="effects"),
    Corruption(content.window_raised, "its windows give", rule="effects"),
    Corruption(content.verdict_turned, "", rule="decisions"),
    Corruption(content.author_of_a_keep_changed, "may not", rule="roles"),
    Corruption(content.decision_moved_to_an_earlier_state, "", rule="decisions"),
    Corruption(content.settings_changed_at_the_start, "", rule="decisions"),
    Corruption(content.prior_changed_at_the_start, "", rule="decisions"),
    Corruption(content.digest_of_a_blob_changed, "is missing in", rule="blobs"),
    Corruption(content.commit_of_a_patch_changed, "is not in", rule="commits"),
    Corruption(around.blob_edited, "was changed", rule="blobs"),
    Corruption(around.blob_removed, "is missing in", rule="blobs"),
    Corruption(around.blobs_exchanged, "was changed", rule="blobs"),
    Corruption(around.blob_moved_to_another_folder, "was changed", rule="blobs"),
    Corruption(around.commit_removed_from_the_repository, "git", rule="commits"),
    Corruption(around.file_of_a_commit_removed_from_the_repository, "git fsck", rule="commits"),
    Corruption(around.object_replaced_by_another, "git fsck", rule="commits"),
    Corruption(around.branch_moved, "the campaign began at", rule="commits"),
    Corruption(around.commit_put_in_the_place_of_another, "in the place of", rule="commits"),
    Corruption(around.claim_raised_in_the_result, "gain.ratio", rule="files"),
    Corruption(around.result_cut_in_half, "cannot be read", rule="files"),
    Corruption(around.result_of_another_log, "another digest", rule="files"),
    Corruption(around.final_configuration_changed_in_the_result, "final_config", rule="files"),
    Corruption(around.memory_use_lowered_in_the_result, "run_facts.json", rule="files"),
    Corruption(around.figure_changed_in_the_report, "report.md differs", rule="files"),
    Corruption(around.script_added_to_the_page, "report.html differs", rule="files"),
    Corruption(around.budget_changed_in_the_campaign_file, "wall_s", rule="files"),
    Corruption(around.campaign_file_is_no_yaml, "not valid YAML", rule="files"),
    Corruption(around.last_events_cut_off_under_a_report, "it was cut", rule="files"),
    Corruption(around.command_forged_in_the_inbox, "no command", rule="files"),
)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small finished campaign with segments, a tail, blobs, a repository and reports."""
    path = tmp_path_factory.mktemp("pristine") / "campaign"
    record(path, wall_s=120.0, is_killed=False, compact_after=COMPACT_AFTER)
    write_campaign_file(path, dump_campaign(campaign_of(wall_s=120.0)))
    write_reports(path)
    return path


@pytest.fixture
def directory(pristine: Path, tmp_path: Path) -> Path:
    """A copy to corrupt, with the times of its files."""
    return Path(shutil.copytree(pristine, tmp_path / "campaign"))


def test_there_are_fifty() -> None:
    assert len(CORRUPTIONS) >= 50
    assert len({each.name for each in CORRUPTIONS}) == len(CORRUPTIONS)


def test_the_untouched_copy_is_sound(directory: Path) -> None:
    report = audit(directory)
    assert report.first_failure is None
    assert all(rule.num_checked for rule in report.rules)
    assert segments(directory)
    assert lone_tails(directory)


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda each: each.name)
def test_it_is_named_in_one_line(corruption: Corruption, directory: Path) -> None:
    corruption.corrupt(directory)
    own = [rule for rule in RULES if corruption.rule in {rule.name, "*"}]
    try:
        report = audit(directory, rules=own)
    except ArborError as error:
        line = str(error)
    else:
        failing = [rule for rule in report.rules if rule.problems]
        assert [rule.name for rule in failing] == [corruption.rule] or corruption.rule == "*"
        texts = [problem.text for rule in failing for problem in rule.problems]
        assert texts, "nothing was found"
        line = next((t for t in texts if _says(t, corruption.words)), texts[0])
    assert "\n" not in line
    assert _says(line, corruption.words), line


def _says(line: str, words: str) -> bool:
    return any(each in line for each in words.split("|"))


# What only an anchor that was kept elsewhere shows


def test_the_newest_commits_without_a_report_need_an_anchor(directory: Path) -> None:
    anchor = audit(directory).head
    for name in ("result.json", "report.md", "report.html"):
        (directory / name).unlink()
    lone_tails(directory)[-1].unlink()
    assert audit(directory).rules[0].is_sound
    report = audit(directory, [anchor])
    assert report.first_failure is not None
    assert "cut or rewritten" in report.first_failure[1].text


def test_a_text_that_nothing_depends_on_needs_an_anchor(directory: Path) -> None:
    anchor = audit(directory).head
    for name in ("result.json", "report.md", "report.html"):
        (directory / name).unlink()
    forged = ForgedLog(directory / "log")
    forged.commits = [
        with_values(each, "event_id", lambda name: name[:-1] + ("0" if name[-1] != "0" else "1"))
        if number == len(forged.commits) - 1
        else each
        for number, each in enumerate(forged.commits)
    ]
    forged.write()
    assert audit(directory).is_sound
    report = audit(directory, [anchor])
    assert report.first_failure is not None
    assert "cut or rewritten" in report.first_failure[1].text


def test_snapshots_are_never_evidence(directory: Path) -> None:
    (directory / "snapshots").mkdir()
    (directory / "snapshots" / "00000000000000000042.snapshot").write_bytes(b"forged" * 20)
    report = audit(directory)
    assert report.is_sound
    notes = [note for rule in report.rules for note in rule.notes]
    assert any("is never used" in note and "42.snapshot" in note for note in notes)
