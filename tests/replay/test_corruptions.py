"""Fifty ways to corrupt a campaign's directory: each is named in one line by log or audit.

Flipped bytes are covered elsewhere. Whoever does these knows the format: where it says "sealed",
the seal of the file is right again, where it says "chained", all digests of the log are.
"""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arbor.actors.ownership import write_campaign_file
from arbor.core.campaign import dump_campaign
from arbor.events.errors import ArborError
from arbor.events.layout import Layout, read_sealed, to_sealed
from arbor.events.log_file import LogFile
from arbor.replay.audit import RULES, audit
from arbor.replay.reading import open_campaign
from arbor.replay.report import write_reports
from tests.fakes.forged_log import ForgedLog, reseal, with_values
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


# Where things lie


def _log(path: Path) -> Layout:
    return Layout(path / "log")


def _tails(path: Path) -> list[Path]:
    layout = _log(path)
    return [layout.tail_path(first) for first in layout.tails()]


def _segments(path: Path) -> list[Path]:
    layout = _log(path)
    return [layout.segment_path(*each) for each in layout.segment_ranges()]


def _lone_tails(path: Path) -> list[Path]:
    """Return the commits that are in no segment."""
    last = max(last for _, last in _log(path).segment_ranges())
    layout = _log(path)
    return [layout.tail_path(first) for first in layout.tails() if first > last]


def _blob(path: Path, number: int = 0) -> Path:
    return sorted(p for p in (path / "blobs").glob("*/*") if p.parent.name != "incoming")[number]


def _edit_json(path: Path, **changes: Any) -> None:
    fields = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**fields, **changes}, indent=2), encoding="utf-8")


def _forge(path: Path, kind: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the first payload of a kind; all digests are right afterwards."""
    forged = ForgedLog(path / "log")
    is_done = False

    def changed(payload: str) -> str:
        nonlocal is_done
        fields: dict[str, Any] = json.loads(payload)
        if fields["kind"] != kind or is_done:
            return payload
        is_done = True
        change(fields)
        return json.dumps(fields, separators=(",", ":"))

    forged.commits = [with_values(each, "payload", changed) for each in forged.commits]
    forged.write()
    assert is_done


# The log's files


def segment_removed_with_its_commits(path: Path) -> None:
    segment = _segments(path)[0]
    file = LogFile.load(segment)
    for tail in _tails(path):
        if file.first <= int(tail.stem) <= file.last:
            tail.unlink()
    segment.unlink()


def segments_swapped(path: Path) -> None:
    first, second, *_ = _segments(path)
    first_data, second_data = first.read_bytes(), second.read_bytes()
    first.write_bytes(second_data)
    second.write_bytes(first_data)


def old_segment_replayed_at_the_end(path: Path) -> None:
    head = open_campaign(path).reader.head().position
    old = LogFile.load(_segments(path)[0])
    size = old.last - old.first + 1
    shutil.copy(_segments(path)[0], _log(path).segment_path(head + 1, head + size))


def old_segment_replayed_and_renumbered(path: Path) -> None:
    """Sealed, and chained to the end; the events have been there before."""
    forged = ForgedLog(path / "log")
    forged.commits += forged.commits[:3]
    forged.write()


def segment_duplicated_under_a_longer_name(path: Path) -> None:
    layout = _log(path)
    first, last = layout.segment_ranges()[0]
    shutil.copy(layout.segment_path(first, last), layout.segment_path(first, last + 1))


def tail_removed_in_the_middle(path: Path) -> None:
    tails = _lone_tails(path)
    tails[len(tails) // 2].unlink()


def tails_swapped(path: Path) -> None:
    first, second, *_ = _lone_tails(path)
    first_data, second_data = first.read_bytes(), second.read_bytes()
    first.write_bytes(second_data)
    second.write_bytes(first_data)


def tail_renamed_to_another_position(path: Path) -> None:
    tail = _lone_tails(path)[-1]
    tail.rename(_log(path).tail_path(int(tail.stem) + 5))


def tail_replaced_by_the_one_before(path: Path) -> None:
    tails = _lone_tails(path)
    shutil.copy(tails[-2], tails[-1])


def footer_truncated(path: Path) -> None:
    tail = _lone_tails(path)[-1]
    tail.write_bytes(tail.read_bytes()[:-16])


def file_emptied(path: Path) -> None:
    _lone_tails(path)[-1].write_bytes(b"")


def file_zeroed(path: Path) -> None:
    tail = _lone_tails(path)[-1]
    tail.write_bytes(bytes(tail.stat().st_size))


def bytes_appended(path: Path) -> None:
    tail = _lone_tails(path)[-1]
    tail.write_bytes(tail.read_bytes() + b"more")


def file_rewritten_by_another_tool(path: Path) -> None:
    tail = _lone_tails(path)[-1]
    pq.write_table(pq.read_table(tail), tail)


def file_of_text_in_the_tail(path: Path) -> None:
    head = open_campaign(path).reader.head().position
    _log(path).tail_path(head + 1).write_text("not Parquet")


def file_replaced_by_a_folder(path: Path) -> None:
    tail = _lone_tails(path)[-1]
    tail.unlink()
    tail.mkdir()


def file_of_columns_removed(path: Path) -> None:
    _log(path).tail_path(0).unlink()


def rows_reordered(path: Path) -> None:
    def reverse(table: pa.Table) -> pa.Table:
        return table.take(list(range(table.num_rows))[::-1])

    reseal(_segments(path)[0], reverse)


def rows_reordered_under_their_positions(path: Path) -> None:
    def reverse(table: pa.Table) -> pa.Table:
        turned = table.take(list(range(table.num_rows))[::-1])
        return turned.set_column(0, table.schema.field("position"), table.column("position"))

    reseal(_segments(path)[0], reverse)


def row_removed(path: Path) -> None:
    reseal(_segments(path)[0], lambda table: table.slice(1))


def row_doubled(path: Path) -> None:
    reseal(_segments(path)[0], lambda table: pa.concat_tables([table, table.slice(0, 1)]))


def payload_edited_and_sealed(path: Path) -> None:
    reseal(
        _lone_tails(path)[-1],
        lambda table: with_values(table, "payload", lambda text: text.replace("1", "2")),
    )


def actor_edited_and_sealed(path: Path) -> None:
    reseal(_lone_tails(path)[-1], lambda table: with_values(table, "actor", lambda _: "critic"))


def time_edited_and_sealed(path: Path) -> None:
    tail = _lone_tails(path)[-1]
    latest = LogFile.load(tail).table().column("recorded_at")[0].as_py()
    old = latest.replace(year=1999)
    reseal(tail, lambda table: with_values(table, "recorded_at", lambda _: old))


def copy_of_a_commit_edited_beside_its_segment(path: Path) -> None:
    covered = next(tail for tail in _tails(path) if tail not in _lone_tails(path))
    reseal(covered, lambda t: with_values(t, "actor", lambda a: f"{a}x"), chained=True)


# Epochs and format


def epoch_renamed(path: Path) -> None:
    epochs = path / "log" / "epochs"
    (epochs / "1").rename(epochs / "7")


def epoch_removed(path: Path) -> None:
    (path / "log" / "epochs" / "1").unlink()


def epoch_in_between_removed(path: Path) -> None:
    epochs = path / "log" / "epochs"
    for number in (3, 4):
        (epochs / str(number)).write_bytes(to_sealed(_claim(path) | {"epoch": number}))
    (epochs / "3").unlink()


def _claim(path: Path) -> dict[str, Any]:
    return read_sealed(path / "log" / "epochs" / "1")


def epoch_edited(path: Path) -> None:
    file = path / "log" / "epochs" / "1"
    file.write_text(file.read_text().replace('"epoch":1', '"epoch":2'))


def epoch_edited_and_sealed(path: Path) -> None:
    (path / "log" / "epochs" / "1").write_bytes(to_sealed(_claim(path) | {"epoch": 2}))


def campaign_renamed_and_sealed(path: Path) -> None:
    file = path / "log" / "format.json"
    file.write_bytes(to_sealed({**read_sealed(file), "campaign_id": "campaign-2"}))


def format_removed(path: Path) -> None:
    (path / "log" / "format.json").unlink()


def format_number_raised(path: Path) -> None:
    file = path / "log" / "format.json"
    file.write_bytes(to_sealed({**read_sealed(file), "format": 3}))


# The whole log, chained


def clock_set_back_in_the_middle(path: Path) -> None:
    forged = ForgedLog(path / "log")
    at = len(forged.commits) // 2
    forged.commits[at] = with_values(
        forged.commits[at], "recorded_at", lambda time: time.replace(year=1999)
    )
    forged.write()


def commit_left_out(path: Path) -> None:
    forged = ForgedLog(path / "log")
    del forged.commits[len(forged.commits) // 2]
    forged.write()


def commits_exchanged(path: Path) -> None:
    forged = ForgedLog(path / "log")
    at = len(forged.commits) // 2
    forged.commits[at : at + 2] = forged.commits[at + 1], forged.commits[at]
    forged.write()


def first_events_cut_off(path: Path) -> None:
    forged = ForgedLog(path / "log")
    forged.commits = forged.commits[5:]
    forged.write()


def columns_against_payloads(path: Path) -> None:
    forged = ForgedLog(path / "log")
    forged.commits = [with_values(each, "node_id", lambda _: None) for each in forged.commits]
    forged.write()


def tags_removed(path: Path) -> None:
    forged = ForgedLog(path / "log")
    forged.commits = [with_values(each, "tags", lambda _: []) for each in forged.commits]
    forged.write()


def score_raised(path: Path) -> None:
    _forge(path, "ActionScored", lambda fields: fields.update(score=fields["score"] + 1.0))


def term_of_a_score_changed(path: Path) -> None:
    def change(fields: dict[str, Any]) -> None:
        fields["terms"]["exploration"] *= 3.0

    _forge(path, "ActionScored", change)


def effect_raised(path: Path) -> None:
    def change(fields: dict[str, Any]) -> None:
        fields["effect"].update(ratio=3.0, low=2.5, high=3.5)

    _forge(path, "BenchmarkMeasured", change)


def window_raised(path: Path) -> None:
    def change(fields: dict[str, Any]) -> None:
        fields["candidate"]["throughput_tok_s"] *= 2.0

    _forge(path, "PairMeasured", change)


def verdict_turned(path: Path) -> None:
    _forge(path, "MeasurementJudged", lambda f: f.update(is_accepted=not f["is_accepted"]))


def author_of_a_keep_changed(path: Path) -> None:
    forged = ForgedLog(path / "log")

    def critic(table: pa.Table) -> pa.Table:
        is_keep = "ActionKept" in table.column("kind").to_pylist()
        return with_values(table, "actor", lambda _: "critic") if is_keep else table

    forged.commits = [critic(each) for each in forged.commits]
    forged.write()


def decision_moved_to_an_earlier_state(path: Path) -> None:
    forged = ForgedLog(path / "log")

    def earlier(table: pa.Table) -> pa.Table:
        if "ActionDispatched" not in table.column("kind").to_pylist():
            return table
        return with_values(table, "decided_after", lambda at: at - 3)

    forged.commits = [earlier(each) for each in forged.commits]
    forged.write()


def settings_changed_at_the_start(path: Path) -> None:
    def change(fields: dict[str, Any]) -> None:
        fields["settings"]["search"]["exploration"] = 0.5

    _forge(path, "CampaignStarted", change)


def prior_changed_at_the_start(path: Path) -> None:
    def change(fields: dict[str, Any]) -> None:
        fields["actions"][0]["prior_speedup_ratio"] = 9.0

    _forge(path, "CampaignStarted", change)


def digest_of_a_blob_changed(path: Path) -> None:
    _forge(path, "PatchProposed", lambda fields: fields.update(diff_digest="0" * 64))


def commit_of_a_patch_changed(path: Path) -> None:
    _forge(path, "PatchProposed", lambda fields: fields.update(commit="1" * 40))


# Beside the log


def blob_edited(path: Path) -> None:
    _blob(path).write_bytes(b"something else")


def blob_removed(path: Path) -> None:
    _blob(path).unlink()


def blobs_exchanged(path: Path) -> None:
    first, second = _blob(path), _blob(path, 1)
    first_data, second_data = first.read_bytes(), second.read_bytes()
    first.write_bytes(second_data)
    second.write_bytes(first_data)


def blob_moved_to_another_folder(path: Path) -> None:
    blob = _blob(path)
    other = path / "blobs" / "zz"
    other.mkdir()
    blob.rename(other / blob.name)


def _git(path: Path, *words: str, stdin: bytes = b"") -> str:
    done = subprocess.run(
        ["git", f"--git-dir={path / 'workspace'}", *words],
        input=stdin,
        capture_output=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )
    return done.stdout.decode().strip()


def _object(path: Path, name: str) -> Path:
    return path / "workspace" / "objects" / name[:2] / name[2:]


def _root(path: Path) -> str:
    return open_campaign(path).started.root_commit


def commit_removed_from_the_repository(path: Path) -> None:
    _object(path, _root(path)).unlink()


def file_of_a_commit_removed_from_the_repository(path: Path) -> None:
    tree = _git(path, "rev-parse", f"{_root(path)}^{{tree}}")
    _object(path, tree).unlink()


def object_replaced_by_another(path: Path) -> None:
    tree = _git(path, "rev-parse", f"{_root(path)}^{{tree}}")
    blob = _git(path, "ls-tree", "-r", tree).split()[2]
    target = _object(path, blob)
    other = _git(path, "hash-object", "-w", "--stdin", stdin=b"section: {key: 1}\n")
    target.chmod(0o644)
    shutil.copy(_object(path, other), target)


def branch_moved(path: Path) -> None:
    nodes = open_campaign(path).state().tree.nodes.values()
    other = next(n.commit for n in nodes if n.commit not in {None, _root(path)})
    _git(path, "update-ref", "refs/heads/baseline", str(other))


def commit_put_in_the_place_of_another(path: Path) -> None:
    nodes = open_campaign(path).state().tree.nodes.values()
    other = next(n.commit for n in nodes if n.commit not in {None, _root(path)})
    _git(path, "update-ref", f"refs/replace/{_root(path)}", str(other))


def claim_raised_in_the_result(path: Path) -> None:
    fields = json.loads((path / "result.json").read_text())
    fields["gain"]["ratio"] = 9.0
    (path / "result.json").write_text(json.dumps(fields))


def result_cut_in_half(path: Path) -> None:
    file = path / "result.json"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def result_of_another_log(path: Path) -> None:
    _edit_json(path / "result.json", log_digest="0" * 64)


def final_configuration_changed_in_the_result(path: Path) -> None:
    _edit_json(path / "result.json", final_config={"a.fast": False})


def memory_use_lowered_in_the_result(path: Path) -> None:
    _edit_json(path / "result.json", peak_rss_bytes=1)


def figure_changed_in_the_report(path: Path) -> None:
    file = path / "report.md"
    file.write_text(file.read_text().replace("reverted", "kept"))


def script_added_to_the_page(path: Path) -> None:
    file = path / "report.html"
    file.write_text(file.read_text().replace("</body>", "<script>alert(1)</script></body>"))


def budget_changed_in_the_campaign_file(path: Path) -> None:
    file = path / "campaign.yaml"
    text = file.read_text()
    assert "wall: 120.0" in text
    file.write_text(text.replace("wall: 120.0", "wall: 7200.0"))


def campaign_file_is_no_yaml(path: Path) -> None:
    (path / "campaign.yaml").write_text("name: [")


def last_events_cut_off_under_a_report(path: Path) -> None:
    for tail in _lone_tails(path)[-2:]:
        tail.unlink()


def command_forged_in_the_inbox(path: Path) -> None:
    (path / "inbox").mkdir(exist_ok=True)
    (path / "inbox" / "0190-forged.json").write_text('{"actor":"human","event":{}}')


CORRUPTIONS = (
    Corruption(segment_removed_with_its_commits, "are missing"),
    Corruption(segments_swapped, "holds other positions"),
    Corruption(old_segment_replayed_at_the_end, "holds other positions"),
    Corruption(old_segment_replayed_and_renumbered, "before the event before it"),
    Corruption(segment_duplicated_under_a_longer_name, "holds other positions"),
    Corruption(tail_removed_in_the_middle, "missing"),
    Corruption(tails_swapped, "holds other positions"),
    Corruption(tail_renamed_to_another_position, "holds other positions"),
    Corruption(tail_replaced_by_the_one_before, "holds other positions"),
    Corruption(footer_truncated, "seal"),
    Corruption(file_emptied, "seal"),
    Corruption(file_zeroed, "seal"),
    Corruption(bytes_appended, "seal"),
    Corruption(file_rewritten_by_another_tool, "seal"),
    Corruption(file_of_text_in_the_tail, "seal"),
    Corruption(file_replaced_by_a_folder, "cannot be read"),
    Corruption(file_of_columns_removed, "is missing"),
    Corruption(rows_reordered, "where"),
    Corruption(rows_reordered_under_their_positions, "do not give"),
    Corruption(row_removed, "misses rows"),
    Corruption(row_doubled, "misses rows"),
    Corruption(payload_edited_and_sealed, "do not give"),
    Corruption(actor_edited_and_sealed, "do not give"),
    Corruption(time_edited_and_sealed, "do not give"),
    Corruption(copy_of_a_commit_edited_beside_its_segment, "differs from another copy|does not"),
    Corruption(epoch_renamed, "claims another epoch"),
    Corruption(epoch_removed, "is missing|nobody claimed"),
    Corruption(epoch_in_between_removed, "is missing"),
    Corruption(epoch_edited, "seal"),
    Corruption(epoch_edited_and_sealed, "claims another epoch"),
    Corruption(campaign_renamed_and_sealed, "disagree"),
    Corruption(format_removed, "no event log"),
    Corruption(format_number_raised, "log format 3"),
    Corruption(clock_set_back_in_the_middle, "before the event before it"),
    Corruption(commit_left_out, "", rule="*"),
    Corruption(commits_exchanged, "", rule="*"),
    Corruption(first_events_cut_off, "", rule="*"),
    Corruption(columns_against_payloads, "disagree"),
    Corruption(tags_removed, "is tagged", rule="tags"),
    Corruption(score_raised, "its terms give", rule="scores"),
    Corruption(term_of_a_score_changed, "exploration", rule="decisions"),
    Corruption(effect_raised, "as its pairs give", rule="effects"),
    Corruption(window_raised, "its windows give", rule="effects"),
    Corruption(verdict_turned, "", rule="decisions"),
    Corruption(author_of_a_keep_changed, "may not", rule="roles"),
    Corruption(decision_moved_to_an_earlier_state, "", rule="decisions"),
    Corruption(settings_changed_at_the_start, "", rule="decisions"),
    Corruption(prior_changed_at_the_start, "", rule="decisions"),
    Corruption(digest_of_a_blob_changed, "is missing in", rule="blobs"),
    Corruption(commit_of_a_patch_changed, "is not in", rule="commits"),
    Corruption(blob_edited, "was changed", rule="blobs"),
    Corruption(blob_removed, "is missing in", rule="blobs"),
    Corruption(blobs_exchanged, "was changed", rule="blobs"),
    Corruption(blob_moved_to_another_folder, "was changed", rule="blobs"),
    Corruption(commit_removed_from_the_repository, "git", rule="commits"),
    Corruption(file_of_a_commit_removed_from_the_repository, "git fsck", rule="commits"),
    Corruption(object_replaced_by_another, "git fsck", rule="commits"),
    Corruption(branch_moved, "the campaign began at", rule="commits"),
    Corruption(commit_put_in_the_place_of_another, "in the place of", rule="commits"),
    Corruption(claim_raised_in_the_result, "gain.ratio", rule="files"),
    Corruption(result_cut_in_half, "cannot be read", rule="files"),
    Corruption(result_of_another_log, "another digest", rule="files"),
    Corruption(final_configuration_changed_in_the_result, "final_config", rule="files"),
    Corruption(memory_use_lowered_in_the_result, "run_facts.json", rule="files"),
    Corruption(figure_changed_in_the_report, "report.md differs", rule="files"),
    Corruption(script_added_to_the_page, "report.html differs", rule="files"),
    Corruption(budget_changed_in_the_campaign_file, "wall_s", rule="files"),
    Corruption(campaign_file_is_no_yaml, "not valid YAML", rule="files"),
    Corruption(last_events_cut_off_under_a_report, "it was cut", rule="files"),
    Corruption(command_forged_in_the_inbox, "no command", rule="files"),
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
    assert _segments(directory)
    assert _lone_tails(directory)


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
    _lone_tails(directory)[-1].unlink()
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
