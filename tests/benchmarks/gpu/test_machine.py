"""The steps on a GPU machine, as far as they go without one."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from arbor.core.campaign import load_campaign
from benchmarks.gpu import machine
from benchmarks.gpu.machine import MachineError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep everything in a folder of the test."""
    folder = tmp_path / "home"
    places = {
        "HOME": folder,
        "PARTS": folder / "parts",
        "SITE": folder / "site",
        "SOURCE": folder / "source",
        "CAMPAIGN": folder / "campaign",
        "MODEL": folder / "model",
    }
    folder.mkdir()
    # no model is made here
    (folder / "model.pid").write_text("0")
    for name, path in places.items():
        monkeypatch.setattr(machine, name, path)
    return folder


def write_parts(folder: Path, num: int) -> None:
    """Write parts of an archive of one module, and their manifest."""
    folder.mkdir()
    (folder / "site").mkdir()
    (folder / "site" / "module.py").write_text("x = 1\n" * 3000)
    archive = folder / "whole"
    subprocess.run(["tar", "-C", str(folder), "-cJf", str(archive), "site"], check=True)
    body = archive.read_bytes()
    size = -(-len(body) // num)
    rows = []
    for index in range(num):
        part = folder / f"site.tar.xz.{index:02d}"
        part.write_bytes(body[index * size : (index + 1) * size])
        rows.append({"name": part.name, "sha256": hashlib.sha256(part.read_bytes()).hexdigest()})
    (folder / "parts.json").write_text(json.dumps(rows))


def test_parts_come_one_by_one_and_are_unpacked(tmp_path: Path, home: Path) -> None:
    everything = tmp_path / "all"
    write_parts(everything, 3)
    for name in ("parts.json", "site.tar.xz.00", "site.tar.xz.01", "site.tar.xz.02"):
        call = tmp_path / f"call-{name}"
        call.mkdir()
        (call / name).write_bytes((everything / name).read_bytes())
        machine.take(call)
    machine.unpack(machine.checked_parts())
    assert (home / "site" / "module.py").read_text() == "x = 1\n" * 3000


def test_the_program_names_the_interpreter_that_holds_torch(home: Path) -> None:
    machine.write_program()
    program = home / "bin" / "vllm"
    assert program.read_text().splitlines()[0] == f"#!{sys.executable}"
    config = load_campaign(Path("campaigns/h200.yaml")).target_config
    assert Path(config["executable"]).parts[-3:] == ("arbor-gpu", "bin", "vllm")
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert "No module named 'vllm'" in done.stderr


def test_missing_and_damaged_parts_are_named(tmp_path: Path, home: Path) -> None:
    with pytest.raises(MachineError, match=r"no parts\.json"):
        machine.checked_parts()
    write_parts(tmp_path / "all", 2)
    machine.take(tmp_path / "all")
    (home / "parts" / "site.tar.xz.01").write_bytes(b"x")
    with pytest.raises(MachineError, match=r"site\.tar\.xz\.01 is damaged"):
        machine.checked_parts()
    (home / "parts" / "site.tar.xz.01").unlink()
    with pytest.raises(MachineError, match=r"site\.tar\.xz\.01 is missing"):
        machine.checked_parts()


def test_a_campaign_travels_to_the_next_machine(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.setenv("OUT", str(out))
    monkeypatch.setattr(machine, "OUT_PART_BYTES", 200)
    log = home / "campaign" / "log"
    log.mkdir(parents=True)
    text = "".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(30))
    (log / "events").write_text(text)
    (home / "campaign" / "report.md").write_text("fast")
    (home / "campaign" / "worktrees").mkdir()
    (home / "campaign" / "worktrees" / "big").write_text("x")
    machine.keep_campaign()
    assert len(list(out.glob("campaign.tar.xz.*"))) > 1
    assert (out / "report.md").read_text() == "fast"
    (home / "campaign").rename(home / "old")
    machine.restore(out)
    assert (log / "events").read_text() == text
    assert not (home / "campaign" / "worktrees").exists()
    with pytest.raises(MachineError, match="goes on with it"):
        machine.restore(out)


def test_an_unprepared_machine_says_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert machine.main(["campaign", "--for", "1"]) == 1
    assert capsys.readouterr().err == "error: nothing is prepared here; call `prepare` first\n"


def test_the_sources_of_a_checkout_run_from_their_copy(home: Path) -> None:
    machine.copy_sources(Path.cwd())
    done = subprocess.run(
        ["python3", "-c", "import arbor.events.ids; print(arbor.events.ids.__file__)"],
        cwd=home / "source",
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(home / "source")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert str(home / "source" / "arbor" / "events" / "ids.py") in done.stdout, done.stderr
