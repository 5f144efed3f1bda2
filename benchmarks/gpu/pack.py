"""Packs vLLM and Arbor's needs for a GPU machine without network: `python pack.py FOLDER`.

Wheels are downloaded for that machine, unpacked into one folder that goes on its PYTHONPATH, and
compressed into parts that fit a channel that carries little at a time. What is there is not done
again. Only the standard library, pip and xz are used.
"""

import argparse
import hashlib
import json
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
PYTHON = "3.12"
GLIBC_MINORS = (39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 28, 27, 26, 24, 17, 12, 5)
"""pip takes a platform by its exact name: all that the machine's libc 2.39 runs are named."""
ARCHIVE = "site.tar.xz"
MANIFEST = "parts.json"
UNWANTED = (
    # Hopper attends by FA3
    "vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so",
    # parts of Ray that Arbor does not use
    "ray/dashboard/client/",
    "ray/rllib/",
    "ray/serve/",
    "ray/tune/",
    "ray/jars/",
    "ray/cpp/",
)


class PackingFailedError(Exception):
    """The parts cannot be made; one line with the reason."""


def platforms() -> Iterator[str]:
    """Yield the platforms whose wheels the machine runs, newest first."""
    for minor in GLIBC_MINORS:
        yield f"manylinux_2_{minor}_x86_64"
    yield from ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "any")


def download(wheels: Path, requirements: Path) -> None:
    """Fetch the wheels of a list.

    Raises:
        PackingFailedError: one cannot be had.
    """
    wheels.mkdir(parents=True, exist_ok=True)
    words = ["--no-deps", "--only-binary=:all:", "--python-version", PYTHON]
    words += ["--implementation", "cp", "--abi", "abi3", "--abi", "cp312", "--abi", "none"]
    for platform in platforms():
        words += ["--platform", platform]
    words += ["--dest", str(wheels), "--requirement", str(requirements)]
    arguments = [sys.executable, "-m", "pip", "download", "--quiet", *words]
    done = subprocess.run(arguments, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise PackingFailedError(f"the wheels cannot be downloaded: {last}")


def unpack(wheels: Path, site: Path) -> int:
    """Unpack all wheels into one folder; return how many there were.

    Raises:
        PackingFailedError: a wheel is damaged.
    """
    paths = sorted(wheels.glob("*.whl"))
    for path in paths:
        try:
            with zipfile.ZipFile(path) as wheel:
                for member in wheel.infolist():
                    if not member.filename.startswith(UNWANTED):
                        _extract(wheel, member, site)
        except (OSError, zipfile.BadZipFile) as error:
            raise PackingFailedError(f"{path.name}: {error}; remove it and try again") from error
    return len(paths)


def _extract(wheel: zipfile.ZipFile, member: zipfile.ZipInfo, site: Path) -> None:
    """Extract a file; one that may be executed stays so, as Ray's servers do."""
    path = Path(wheel.extract(member, site))
    if not member.is_dir() and (member.external_attr >> 16) & stat.S_IXUSR:
        path.chmod(0o755)


def compress(folder: Path, part_bytes: int) -> list[Path]:
    """Compress ``site`` of a folder into parts beside it; return them.

    Raises:
        PackingFailedError: tar or xz failed.
    """
    # as root owns it there, whoever packed
    tar_words = ["tar", "--create", "--owner=0", "--group=0", "--sort=name", "-C", str(folder)]
    tar = subprocess.Popen([*tar_words, "site"], stdout=subprocess.PIPE)
    xz = subprocess.Popen(["xz", "--threads=0", "-4"], stdin=tar.stdout, stdout=subprocess.PIPE)
    if tar.stdout is None or xz.stdout is None:
        raise PackingFailedError("tar and xz have no pipes")
    tar.stdout.close()
    parts: list[Path] = []
    with xz.stdout as stream:
        while body := stream.read(part_bytes):
            parts.append(folder / f"{ARCHIVE}.{len(parts):02d}")
            parts[-1].write_bytes(body)
    codes = (tar.wait(), xz.wait())
    if any(codes):
        raise PackingFailedError(f"tar ended with {codes[0]}, xz with {codes[1]}")
    return parts


def write_manifest(parts: Sequence[Path]) -> Path:
    """Write names, lengths and digests of the parts, which the other side checks."""
    rows = [
        {
            "name": part.name,
            "num_bytes": part.stat().st_size,
            "sha256": hashlib.sha256(part.read_bytes()).hexdigest(),
        }
        for part in parts
    ]
    path = parts[0].with_name(MANIFEST)
    path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return path


def main(words: Sequence[str] | None = None) -> int:
    """Pack into the folder of the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Packs vLLM and Arbor's needs into parts.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--requirements", type=Path, default=REQUIREMENTS)
    parser.add_argument("--part-mib", type=int, default=40)
    options = parser.parse_args(words)
    folder: Path = options.folder.absolute()
    if (folder / MANIFEST).exists():
        print(f"{folder / MANIFEST} is there; remove it to pack again")
        return 0
    try:
        download(folder / "wheels", options.requirements)
        num = unpack(folder / "wheels", folder / "site")
        print(f"{num} wheels unpacked; compressing takes ten minutes on two cores", flush=True)
        parts = compress(folder, options.part_mib * 2**20)
    except PackingFailedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    write_manifest(parts)
    total_mib = sum(part.stat().st_size for part in parts) / 2**20
    print(f"{len(parts)} parts, {total_mib:.0f} MiB together, in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
