"""Splits the failure cases by source into an open and a sealed half, and prints their ids.

    python benchmarks/rca_split.py [--half open|sealed]

Rules of ``arbor.core.rca`` were written from the open half alone. A case belongs to the half that
the digest of the first issue it names falls into, so cases of one issue are never divided and a
new case moves no other. Nothing but ids is printed: who writes rules does not see sealed cases.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

CASES = Path(__file__).parent / "data" / "failures.jsonl"

Case = Mapping[str, Any]
Half = Literal["open", "sealed"]


def source_key(source: str) -> str:
    """Return ``owner/name#number`` of the first issue that a case names, else its first word."""
    found = re.match(r"([\w.-]+/[\w.-]+)(?: PR)?#(\d+)", source)
    return f"{found[1]}#{found[2]}" if found else source.split(maxsplit=1)[0]


def half_of(source: str) -> Half:
    """Return the half that a source belongs to."""
    digest = hashlib.sha256(source_key(source).encode()).digest()
    return "open" if digest[0] % 2 == 0 else "sealed"


def load(path: Path = CASES) -> list[Case]:
    """Return all cases, in the order of the file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def main() -> None:
    """Print the ids of one half, or of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=["open", "sealed"])
    asked = parser.parse_args().half
    for half in [asked] if asked else ["open", "sealed"]:
        ids = [case["id"] for case in load() if half_of(case["source"]) == half]
        print(f"{half} ({len(ids)}):", *ids)


if __name__ == "__main__":
    main()
