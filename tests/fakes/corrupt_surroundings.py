"""Corruptions of what lies beside a log: blobs, repository, reports; one function each."""

import json
import shutil
import subprocess
from pathlib import Path

from arbor.replay.reading import open_campaign
from tests.fakes.corrupting import blob, edit_json, lone_tails

# Beside the log


def blob_edited(path: Path) -> None:
    """Blob edited."""
    blob(path).write_bytes(b"something else")


def blob_removed(path: Path) -> None:
    """Blob removed."""
    blob(path).unlink()


def blobs_exchanged(path: Path) -> None:
    """Blobs exchanged."""
    first, second = blob(path), blob(path, 1)
    first_data, second_data = first.read_bytes(), second.read_bytes()
    first.write_bytes(second_data)
    second.write_bytes(first_data)


def blob_moved_to_another_folder(path: Path) -> None:
    """Blob moved to another folder."""
    moved = blob(path)
    other = path / "blobs" / "zz"
    other.mkdir()
    moved.rename(other / moved.name)


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
    """Commit removed from the repository."""
    _object(path, _root(path)).unlink()


def file_of_a_commit_removed_from_the_repository(path: Path) -> None:
    """File of a commit removed from the repository."""
    tree = _git(path, "rev-parse", f"{_root(path)}^{{tree}}")
    _object(path, tree).unlink()


def object_replaced_by_another(path: Path) -> None:
    """Object replaced by another."""
    tree = _git(path, "rev-parse", f"{_root(path)}^{{tree}}")
    blob = _git(path, "ls-tree", "-r", tree).split()[2]
    target = _object(path, blob)
    other = _git(path, "hash-object", "-w", "--stdin", stdin=b"section: {key: 1}\n")
    target.chmod(0o644)
    shutil.copy(_object(path, other), target)


def branch_moved(path: Path) -> None:
    """Branch moved."""
    nodes = open_campaign(path).state().tree.nodes.values()
    other = next(n.commit for n in nodes if n.commit not in {None, _root(path)})
    _git(path, "update-ref", "refs/heads/baseline", str(other))


def commit_put_in_the_place_of_another(path: Path) -> None:
    """Commit put in the place of another."""
    nodes = open_campaign(path).state().tree.nodes.values()
    other = next(n.commit for n in nodes if n.commit not in {None, _root(path)})
    _git(path, "update-ref", f"refs/replace/{_root(path)}", str(other))


def claim_raised_in_the_result(path: Path) -> None:
    """Claim raised in the result."""
    fields = json.loads((path / "result.json").read_text())
    fields["gain"]["ratio"] = 9.0
    (path / "result.json").write_text(json.dumps(fields))


def result_cut_in_half(path: Path) -> None:
    """Result cut in half."""
    file = path / "result.json"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def result_of_another_log(path: Path) -> None:
    """Result of another log."""
    edit_json(path / "result.json", log_digest="0" * 64)


def final_configuration_changed_in_the_result(path: Path) -> None:
    """Final configuration changed in the result."""
    edit_json(path / "result.json", final_config={"a.fast": False})


def memory_use_lowered_in_the_result(path: Path) -> None:
    """Memory use lowered in the result."""
    edit_json(path / "result.json", peak_rss_bytes=1)


def figure_changed_in_the_report(path: Path) -> None:
    """Figure changed in the report."""
    file = path / "report.md"
    file.write_text(file.read_text().replace("reverted", "kept"))


def script_added_to_the_page(path: Path) -> None:
    """Script added to the page."""
    file = path / "report.html"
    file.write_text(file.read_text().replace("</body>", "<script>alert(1)</script></body>"))


def budget_changed_in_the_campaign_file(path: Path) -> None:
    """Budget changed in the campaign file."""
    file = path / "campaign.yaml"
    text = file.read_text()
    assert "wall: 120.0" in text
    file.write_text(text.replace("wall: 120.0", "wall: 7200.0"))


def campaign_file_is_no_yaml(path: Path) -> None:
    """Campaign file is no yaml."""
    (path / "campaign.yaml").write_text("name: [")


def last_events_cut_off_under_a_report(path: Path) -> None:
    """Last events cut off under a report."""
    for tail in lone_tails(path)[-2:]:
        tail.unlink()


def command_forged_in_the_inbox(path: Path) -> None:
    """Command forged in the inbox."""
    (path / "inbox").mkdir(exist_ok=True)
    (path / "inbox" / "0190-forged.json").write_text('{"actor":"human","event":{}}')
