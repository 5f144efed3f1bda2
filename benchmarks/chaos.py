"""Everything that can happen to a log's processes and disk, and whether the log still holds.

    python benchmarks/chaos.py [--kills 500] [--ray-kills 50] [--seed 1]

No acknowledged event may be lost, no position skipped, no effect recorded twice; everything else
must be reported by a line that names it.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from page import write_page
from table import Row, publish

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.chaos import damage
from tests.chaos.ray_kills import run_on_ray
from tests.chaos.storm import run_storm

PAGE = Path(__file__).parents[1] / "docs" / "chaos.md"
INTRODUCTION = """\
Kills and pauses hit a keeper and six actors while they append as fast as the disk allows, and a
reader that follows all the time. Actors count in the log, take turns on a host by leases, and note
what was acknowledged in files of their own. Afterwards: every acknowledged event lies at the
position that was told, positions have no gap, each actor counted 1, 2, 3, nobody went on after
its successor, the host was never taken twice, the follower saw the same, and `arbor log verify`
finds nothing.

Damage to files is done one at a time and undone; each must be reported with the file's name by
`arbor log verify`, by a reader and by a writer that opens the log (those parts that they read).
"""


def measure(folder: Path, kills: int, ray_kills: int, seed: int) -> Iterator[Row]:
    """Yield one row for each thing that was counted; a goal for each that must not be."""
    (folder / "storm").mkdir()
    storm = run_storm(folder / "storm", kills - ray_kills, max(2, kills // 25), seed)
    how = f"{storm.seconds:.0f} s, {storm.num_epochs} writers after each other, without Ray"
    for name, num in sorted(storm.num_done.items()):
        yield Row(name, num, "times", how=how)
    yield Row("events in the log", storm.num_events, "events", how=how)
    yield Row("acknowledged", storm.num_acknowledged, "events", how=how)
    yield _problems("lost, doubled, out of order, or unreported", storm.problems, how)
    if ray_kills:
        (folder / "ray").mkdir()
        ray = run_on_ray(folder / "ray", ray_kills, seed)
        how = f"{ray.num_campaigns} campaigns on Ray to their end, {ray.num_events} events"
        for name, num in sorted(ray.num_done.items()):
            yield Row(f"killed {name} on Ray", num, "times", how=how)
        yield _problems("campaigns that did not pass their audit", ray.problems, how)
    for name, attempt in _damages(folder, kills, seed):
        trial = attempt()
        how = trial.skipped or f"{trial.num_reported} of {trial.num_done} reported"
        yield Row(name, trial.num_done, "times", how=how)
        yield _problems(f"{name}: lost or unreported", trial.problems, how)


def _damages(
    folder: Path, kills: int, seed: int
) -> Iterator[tuple[str, Callable[[], damage.Trial]]]:
    num = max(4, kills // 5)
    yield "torn and zeroed tails", lambda: damage.torn_tails(folder / "torn", num, seed)
    yield "bit flips", lambda: damage.bit_flips(folder / "flips", 4 * num, seed)
    yield "disk full", lambda: damage.full_disk(folder / "full", max(2, num // 10))
    yield "failed fsync", lambda: damage.failed_syncs(folder / "syncs", max(2, num // 5))


def _problems(name: str, problems: list[str], how: str) -> Row:
    for problem in problems[:20]:
        print(f"PROBLEM {problem}", flush=True)
    return Row(name, len(problems), "times", "== 0", not problems, how)


def main() -> int:
    """Do all of it, print, write the results and the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=500, help="SIGKILLs in all")
    parser.add_argument("--ray-kills", type=int, default=50, help="of these on Ray")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", type=Path, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.dir) as name:
        rows = list(measure(Path(name), arguments.kills, arguments.ray_kills, arguments.seed))
    write_page(PAGE, "Chaos", "make chaos", INTRODUCTION, rows)
    return publish("chaos", rows)


if __name__ == "__main__":
    sys.exit(main())
