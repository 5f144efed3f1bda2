"""What users get wrong, through the real command: one line with the fix, exit code 2, no trace.

Nothing here starts Ray but the campaign with too little budget.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arbor.actors.ownership import hold_directory
from arbor.core.layout import CampaignDirectory
from arbor.events.layout import to_sealed
from arbor.events.parquet_log import ParquetLog
from tests.contracts.event_log import started
from tests.system.campaigns import REPOSITORY, arbor, driver, write_campaign
from tests.system.invariants import require_sound

pytestmark = pytest.mark.system

LANDSCAPE = REPOSITORY / "examples" / "landscape.yaml"


def refused(*arguments: str | Path, **changes: str) -> str:
    """Return the one line that a refused command prints."""
    done = arbor(*arguments, **changes)
    assert done.returncode == 2, done
    assert done.stdout == "", "refused before anything begins"
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"buget": {"wall": "5m"}}, "unknown key 'buget'"),
        ({"budget": {"walls": "5m"}}, "unknown key 'budget.walls'"),
        ({"seed": "many"}, "seed: Input should be a valid integer"),
        ({"budget": {"wall": "10x"}}, "'10x' is no duration"),
        ({"search": {"parallel": 0}}, "search.parallel"),
        ({"target": "nope"}, "unknown target 'nope'; known targets: command, engine"),
        ({"target": "landscape", "target_config": {"sed": 1}}, "target landscape: sed"),
        ({"target_config": {"model": "/no/such/model"}}, "model folder /no/such/model"),
    ],
)
def test_a_wrong_campaign_file_is_refused(
    tmp_path: Path, content: dict[str, Any], told: str
) -> None:
    file = write_campaign(tmp_path / "wrong.yaml", **content)
    assert told in refused("run", file, "--dir", tmp_path / "campaign")
    assert not (tmp_path / "campaign").exists()


@pytest.mark.parametrize(
    ("budget", "told"),
    [("0", "must be above 0"), ("10x", "write seconds or 90s, 10m"), ("-5", "is no duration")],
)
def test_an_impossible_budget_is_refused(tmp_path: Path, budget: str, told: str) -> None:
    directory = tmp_path / "campaign"
    assert told in refused("run", LANDSCAPE, "--dir", directory, f"--budget={budget}")
    assert not directory.exists()


def test_a_budget_that_ends_before_the_first_trial_is_an_error(tmp_path: Path) -> None:
    # One start of Ray: only the baseline's own measurement shows how much it needs.
    directory = tmp_path / "campaign"
    with driver(directory, "run", LANDSCAPE, "--dir", directory, "--budget", "1s") as running:
        assert running.wait() == 2
        running.require_no_orphans()
        running.require_quiet()
        (line,) = running.err.read_text().splitlines()
    assert line == (
        "error: the budget of 1 s was too small to try anything beside the baseline; "
        f"`arbor resume {directory} --budget 10m` goes on"
    )
    require_sound(directory)
    told = refused("resume", directory)
    assert f"has ended; `arbor resume {directory} --budget 10m` goes on" in told


@pytest.mark.parametrize("place", ["/proc/arbor", "/dev/null/arbor"])
def test_a_directory_that_cannot_be_made_is_refused(place: str) -> None:
    assert f"cannot write to {place}" in refused("run", LANDSCAPE, "--dir", place)


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    assert "choose another --dir" in refused("run", LANDSCAPE, "--dir", path)
    assert f"no directory {path}" in refused("resume", path)
    assert path.read_text() == "mine"


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting needs root")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_a_read_only_disk_is_refused(read_only: Path) -> None:
    told = refused("run", LANDSCAPE, "--dir", read_only / "campaign")
    assert "Read-only file system; choose another --dir" in told


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "campaign.yaml").write_text("mine")
    (tmp_path / "thesis.tex").write_text("mine")
    for fresh in ([], ["--fresh"]):
        told = refused("run", LANDSCAPE, "--dir", tmp_path, *fresh)
        assert "is not empty and holds no campaign" in told
    assert {path.name for path in tmp_path.iterdir()} == {"campaign.yaml", "thesis.tex"}
    assert (tmp_path / "campaign.yaml").read_text() == "mine"


def test_a_missing_compiler_is_refused(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git") or "/usr/bin/git")
    told = refused("run", "--dir", tmp_path / "campaign", PATH=str(programs), CXX="g++")
    assert "no C++ compiler 'g++'" in told
    assert "apt-get install g++" in told


def test_a_cluster_that_does_not_answer_is_refused(tmp_path: Path) -> None:
    # Ray itself would try for ever.
    done = arbor("run", LANDSCAPE, "--dir", tmp_path, RAY_ADDRESS="127.0.0.1:1")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: cannot reach Ray at 127.0.0.1:1 (RAY_ADDRESS)")


def recorded_campaign(directory: Path) -> Path:
    """Record the start of a campaign, as a driver does that is killed soon after."""
    log = ParquetLog.open(CampaignDirectory(directory).log, "c1")
    log.append([started(1, incarnation=1)])
    log.close()
    return directory


def test_a_second_run_in_a_directory_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / "campaign"
    with hold_directory(directory):
        assert "another run owns" in refused("run", LANDSCAPE, "--dir", directory)


def test_a_log_of_another_version_is_refused(tmp_path: Path) -> None:
    directory = recorded_campaign(tmp_path / "campaign")
    layout = CampaignDirectory(directory).log / "format.json"
    layout.write_bytes(to_sealed({"campaign_id": "c1", "format": 99}))
    before = sorted(directory.rglob("*"))
    for command in (("run", LANDSCAPE, "--dir", directory), ("resume", directory)):
        told = refused(*command)
        assert "99" in told
        assert "format" in told
    assert sorted(directory.rglob("*")) == before


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    directory = recorded_campaign(tmp_path / "campaign")
    first = CampaignDirectory(directory).log / "tail" / f"{1:020d}.parquet"
    content = bytearray(first.read_bytes())
    content[len(content) // 2] ^= 1
    first.write_bytes(content)
    assert str(first) in refused("resume", directory)


def test_resume_needs_a_campaign(tmp_path: Path) -> None:
    assert f"no directory {tmp_path}/nowhere" in refused("resume", tmp_path / "nowhere")
    assert f"`arbor run --dir {tmp_path}` starts one" in refused("resume", tmp_path)
    assert list(tmp_path.iterdir()) == [], "not even a lock"
