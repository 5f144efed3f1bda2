"""The event log against what the disk allows and what others do: one table.

    python benchmarks/log.py [--events 1000000] [--dir DIR] [--no-ray]

Every ratio is to a floor of the same run on the same disk: write and fdatasync of the payloads.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import log_append
import log_ray
import log_scale
from page import write_page
from table import Row, publish

PAGE = Path(__file__).parents[1] / "docs" / "bench-log.md"
INTRODUCTION = """\
Events are those that a search appends most (budget, trial, score), about 300 bytes of JSON each.
Appends of all systems take turns on one disk, so that its moods hit all alike. `deltalake` does
not sync what it writes; the others do.
"""


def measure(folder: Path, num_events: int, *, with_ray: bool) -> list[Row]:
    """Return all rows.

    Args:
        folder: where the logs go; a real disk, or the floor means nothing.
        num_events: size of the large log.
        with_ray: also go through Ray.
    """
    rows = list(log_append.rows(folder))
    floor_s = next(row.value for row in rows if row.name == "floor, batch 1000") / 1e3
    rows += log_scale.rows(folder / "scale", num_events)
    if with_ray:
        rows += log_ray.rows(folder / "ray", floor_s)
    return rows


def main() -> int:
    """Measure, print, write the results and the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--dir", type=Path, default=None, help="on the disk to measure")
    parser.add_argument("--no-ray", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.dir) as name:
        rows = measure(Path(name), arguments.events, with_ray=not arguments.no_ray)
    write_page(PAGE, "The event log, measured", "make bench-log", INTRODUCTION, rows)
    return publish("log", rows)


if __name__ == "__main__":
    sys.exit(main())
