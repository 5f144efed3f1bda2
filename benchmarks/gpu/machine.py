"""Runs a campaign on a GPU machine without network, a few minutes at a time.

    take FOLDER     keep the parts in a folder (`pack.py` made them; several calls may bring them),
                    and begin to make the model, which needs none of them
    prepare         check and unpack the parts, await the model, note what the machine is
    restore FOLDER  unpack an earlier machine's campaign from its parts, to go on with it
    campaign        begin the campaign, or go on, in the background; watch it for --for seconds
    stop            end the campaign so that it can go on elsewhere

Run it from the root of a checkout, as ``python3 -m benchmarks.gpu.machine STEP``. Everything is
kept under ARBOR_GPU, /tmp/arbor-gpu by default; what a caller wants to keep is copied into the
folder OUT, if that variable is set.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.gpu.background import begin, is_running, pid_of

HOME = Path(os.environ.get("ARBOR_GPU", "/tmp/arbor-gpu"))  # noqa: S108 - a machine of one user
PARTS, SITE, SOURCE = HOME / "parts", HOME / "site", HOME / "source"
CAMPAIGN, MODEL = HOME / "campaign", HOME / "models" / "qwen3-8b"
CONFIG = "campaigns/h200.yaml"
SOURCES = ("arbor", "actors", "events", "kernels", "replay", "benchmarks", "campaigns")
ARCHIVE = "campaign.tar.xz"
OUT_PART_BYTES = 15 * 2**20
"""Of an archive that leaves the machine."""
STOP_LIMIT_S = 60.0
_LOOK_S = 5.0
_MODEL_WORDS = ("-m", "benchmarks.models", str(MODEL), "--shape", "qwen3-8b", "--device", "cuda")
_NOT_KEPT = ("worktrees", "*.lock")


class MachineError(Exception):
    """The machine lacks something; one line with the fix."""


def environment() -> dict[str, str]:
    """Return the environment of what runs with the unpacked packages."""
    paths = [str(SITE), str(SOURCE)]
    offline = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    return {**os.environ, **offline, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def take(folder: Path) -> None:
    """Copy the parts in a folder, and say which are missing."""
    PARTS.mkdir(parents=True, exist_ok=True)
    for path in sorted((*folder.glob("site.tar.xz.*"), *folder.glob("parts.json"))):
        shutil.copyfile(path, PARTS / path.name)
    print(f"parts here: {', '.join(sorted(p.name for p in PARTS.iterdir())) or 'none'}")
    if not (HOME / "model.pid").exists():
        copy_sources(Path.cwd())
        begin(HOME, "model", _MODEL_WORDS, SOURCE, environment())


def prepare() -> None:
    """Unpack, make the model, and note the machine.

    Raises:
        MachineError: a part is missing or damaged, or a program fails.
    """
    if shutil.which("git") is None:
        raise MachineError("no git here: a campaign's workspace is a repository")
    begin_s = time.monotonic()
    if not (HOME / "unpacked").exists():
        parts = checked_parts()
        unpack(parts)
        (HOME / "unpacked").touch()
    took = {"unpack_s": time.monotonic() - begin_s}
    while is_running(HOME, "model"):
        time.sleep(1.0)
    copy_sources(Path.cwd())
    write_program()
    # the first import compiles what all later ones read
    took["import_s"] = _run("-m", "vllm.entrypoints.cli.main", "--version")
    # done unless the one in the background failed
    took["model_s"] = _run(*_MODEL_WORDS)
    told = subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=False).stdout
    print(told)
    keep("prepare.json", json.dumps({**took, "nvidia_smi": told}, indent=2).encode())
    print("prepared: " + ", ".join(f"{name} {value:.0f}" for name, value in took.items()))


def checked_parts() -> list[Path]:
    """Return the parts in their order.

    Raises:
        MachineError: one is missing or damaged.
    """
    manifest = PARTS / "parts.json"
    if not manifest.exists():
        raise MachineError("no parts.json was taken; bring it beside the first part")
    parts = []
    for row in json.loads(manifest.read_text(encoding="utf-8")):
        part = PARTS / row["name"]
        if not part.exists():
            raise MachineError(f"part {row['name']} is missing; bring it with `take`")
        if hashlib.sha256(part.read_bytes()).hexdigest() != row["sha256"]:
            raise MachineError(f"part {row['name']} is damaged; bring it again with `take`")
        parts.append(part)
    return parts


def unpack(parts: Sequence[Path]) -> None:
    """Unpack an archive in parts into the home folder.

    Raises:
        MachineError: it is damaged.
    """
    HOME.mkdir(parents=True, exist_ok=True)
    words = ["tar", "--extract", "--use-compress-program=xz -T0", "-f", "-", "-C", str(HOME)]
    tar = subprocess.Popen(words, stdin=subprocess.PIPE)
    if tar.stdin is None:
        raise MachineError("tar has no input")
    with tar.stdin as stream:
        for part in parts:
            stream.write(part.read_bytes())
    if tar.wait():
        raise MachineError(f"tar ended with {tar.returncode}")


def copy_sources(checkout: Path) -> None:
    """Copy the checkout: its files may be replaced while a campaign runs from them."""
    for name in SOURCES:
        shutil.rmtree(SOURCE / name, ignore_errors=True)
        shutil.copytree(checkout / name, SOURCE / name, symlinks=True)


def write_program() -> None:
    """Write the ``vllm`` program, as its wheel's installation would."""
    program = HOME / "bin" / "vllm"
    program.parent.mkdir(parents=True, exist_ok=True)
    # its processes of engines import this file again
    lines = (
        f"#!{sys.executable}",
        "from vllm.entrypoints.cli.main import main",
        'if __name__ == "__main__":',
        "    main()",
    )
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    program.chmod(0o755)


def restore(folder: Path) -> None:
    """Unpack an earlier machine's campaign.

    Raises:
        MachineError: there are no parts of one, or there is a campaign here.
    """
    if CAMPAIGN.exists():
        raise MachineError(f"{CAMPAIGN} is there; `campaign` goes on with it")
    parts = sorted(folder.glob(f"{ARCHIVE}.*"))
    if not parts:
        raise MachineError(f"{folder} holds no {ARCHIVE}.00; give the folder of an earlier OUT")
    unpack(parts)
    print(f"restored {CAMPAIGN}; `campaign` goes on with it")


def campaign(watch_s: float, budget: str | None) -> None:
    """Begin or go on in the background, watch, and copy what there is.

    Raises:
        MachineError: the machine is not prepared.
    """
    if not (HOME / "unpacked").exists() or not MODEL.exists():
        raise MachineError("nothing is prepared here; call `prepare` first")
    if not is_running(HOME, "campaign"):
        is_begun = (CAMPAIGN / "log").exists()
        words = ["resume", str(CAMPAIGN)] if is_begun else ["run", CONFIG, "--dir", str(CAMPAIGN)]
        words += ["--budget", budget] if budget else []
        begin(HOME, "campaign", ["-m", "arbor", *words], SOURCE, environment())
    end_s = time.monotonic() + watch_s
    shown = 0
    while is_running(HOME, "campaign") and time.monotonic() < end_s:
        time.sleep(_LOOK_S)
        shown = _show(shown)
    _show(shown)
    is_on = is_running(HOME, "campaign")
    print("the campaign goes on" if is_on else "the campaign is not running")
    keep_campaign()


def stop() -> None:
    """End the campaign as an interrupt does, and copy it."""
    pid = pid_of(HOME, "campaign")
    if pid is not None and is_running(HOME, "campaign"):
        os.kill(pid, signal.SIGINT)
        end_s = time.monotonic() + STOP_LIMIT_S
        while is_running(HOME, "campaign") and time.monotonic() < end_s:
            time.sleep(1.0)
        if is_running(HOME, "campaign"):
            # what was recorded is durable; the guards end the servers
            os.killpg(pid, signal.SIGKILL)
    keep_campaign()


def keep(name: str, body: bytes) -> None:
    """Write a file into OUT, if there is such a folder."""
    out = os.environ.get("OUT")
    if out:
        (Path(out) / name).write_bytes(body)


def keep_campaign() -> None:
    """Copy the campaign into OUT, in parts, and its report beside them."""
    if not os.environ.get("OUT") or not CAMPAIGN.exists():
        return
    words = ["tar", "--create", "--use-compress-program=xz -T0 -4", "-C", str(HOME)]
    words += [f"--exclude={pattern}" for pattern in _NOT_KEPT]
    done = subprocess.run([*words, "-f", "-", CAMPAIGN.name], stdout=subprocess.PIPE, check=False)
    # 1: a file changed while it was read; the log's files never do
    if done.returncode > 1:
        raise MachineError(f"tar ended with {done.returncode}")
    for number, offset in enumerate(range(0, len(done.stdout), OUT_PART_BYTES)):
        keep(f"{ARCHIVE}.{number:02d}", done.stdout[offset : offset + OUT_PART_BYTES])
    for name in ("report.html", "report.md", "result.json"):
        if (CAMPAIGN / name).exists():
            keep(name, (CAMPAIGN / name).read_bytes())


def _show(begin: int) -> int:
    """Print what the campaign said since a position; return the new one."""
    text = (HOME / "campaign.log").read_bytes()
    sys.stdout.write(text[begin:].decode(errors="replace"))
    sys.stdout.flush()
    return len(text)


def _run(*words: str) -> float:
    """Run Python with the unpacked packages; return the seconds.

    Raises:
        MachineError: it failed.
    """
    begin_s = time.monotonic()
    done = subprocess.run([sys.executable, *words], cwd=SOURCE, env=environment(), check=False)
    if done.returncode:
        raise MachineError(f"python {' '.join(words)} ended with {done.returncode}")
    return time.monotonic() - begin_s


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description="Runs a campaign on a machine without network.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("take", "restore"):
        commands.add_parser(name).add_argument("folder", type=Path)
    commands.add_parser("prepare")
    commands.add_parser("stop")
    going = commands.add_parser("campaign")
    going.add_argument("--for", dest="watch_s", type=float, default=540.0, help="seconds")
    going.add_argument("--budget", help="of a new campaign, or added to one that goes on")
    options = parser.parse_args(words)
    actions: dict[str, Callable[[], None]] = {
        "take": lambda: take(options.folder),
        "prepare": prepare,
        "restore": lambda: restore(options.folder),
        "campaign": lambda: campaign(options.watch_s, options.budget),
        "stop": stop,
    }
    try:
        actions[options.command]()
    except MachineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
