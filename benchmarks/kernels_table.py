"""The table of benchmarks/kernels_gpu.py: times, bytes, shares of peaks, errors and the goals."""

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MEMORY_BOUND = ("rms_norm", "silu_and_mul", "softmax")
SKINNY_M = 64
HEADER = (
    "| operator | shape | ours us (p20, p80) | eager us | compiled us | x best rival | GB/s "
    "(% of copy) | TFLOP/s | error |"
)

Line = Mapping[str, Any]


def time_us(line: Line, label: str) -> float | None:
    """Return a median; ours is the mean of two, taken before and after the rivals'."""
    times = line["times"]
    labels = ("ours", "ours again") if label == "ours" else (label,)
    found = [times[each]["median_us"] for each in labels if each in times]
    known = [each for each in found if each is not None]
    # ours must have been right both times
    return math.fsum(known) / len(known) if known and len(known) == len(found) else None


def speedup(line: Line) -> float | None:
    """Return the best rival's time over ours; None when a rival that was tried has no time."""
    ours = time_us(line, "ours")
    rivals = [time_us(line, label) for label in ("eager", "compiled") if label in line["times"]]
    known = [each for each in rivals if each is not None]
    return min(known) / ours if ours and known and len(known) == len(rivals) else None


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean; NaN of nothing."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else math.nan


def bench_table(lines: Sequence[Line], copy_bytes_per_s: float) -> list[str]:
    """Return one row for each timed shape."""
    rows = [
        HEADER,
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        shape = " ".join(f"{name}={size}" for name, size in line["shape"].items())
        ours = time_us(line, "ours")
        if ours is None:
            problems = [each["problem"] for each in line["times"].values()]
            problem = next(filter(None, problems), "none of ours")
            rows.append(
                f"| {line['operator']} {line['dtype']} | {shape} | no time: {problem} |" + " |" * 6
            )
            continue
        first = line["times"]["ours"]
        rate = line["num_bytes"] / ours * 1e6
        gain = speedup(line)
        rows.append(
            f"| {line['operator']} {line['dtype']} | {shape} | {ours:.2f} ({first['p20_us']:.2f}, "
            f"{first['p80_us']:.2f}) | {_us(time_us(line, 'eager'))} "
            f"| {_us(time_us(line, 'compiled'))} | {'-' if gain is None else f'{gain:.2f}'} "
            f"| {rate / 1e9:.0f} ({rate / copy_bytes_per_s:.0%}) "
            f"| {line['num_flop'] / ours / 1e6:.1f} | {first['error']:.1e} |"
        )
    return rows


def goals(lines: Sequence[Line], copy_bytes_per_s: float) -> list[str]:
    """Return the figures that the project wants to reach, and what was reached."""
    by_key = {line["key"]: line for line in lines}
    benched = [line for line in lines if line["key"].startswith("bench ")]
    rows = ["| goal | reached |", "|---|---|"]
    memory = [line for line in benched if line["operator"] in MEMORY_BOUND]
    shares = [
        line["num_bytes"] / ours * 1e6 / copy_bytes_per_s
        for line in memory
        if (ours := time_us(line, "ours"))
    ]
    gains = [gain for line in memory if (gain := speedup(line)) is not None]
    if shares:
        rows.append(
            f"| memory-bound: >= 90 % of the copy's bandwidth | {min(shares):.0%} at the worst, "
            f"{geometric_mean(shares):.0%} in the mean of {len(shares)} |"
        )
        rows.append(
            f"| memory-bound: >= 1.1x the best of eager and torch.compile, geometric mean "
            f"| {geometric_mean(gains):.2f}x of {len(gains)} |"
        )
    square = by_key.get("bench matmul bf16 m=8192,n=8192,k=8192")
    if square and (gain := speedup(square)) is not None:
        rows.append(f"| bf16 product >= 0.9x the vendor's library at 8192^3 | {gain:.2f}x |")
    skinny = [
        gain
        for line in benched
        if line["operator"] == "matmul"
        and line["shape"]["m"] <= SKINNY_M
        and (gain := speedup(line)) is not None
    ]
    if skinny:
        rows.append(
            f"| bf16 product >= 1.1x on ten skinny shapes | {geometric_mean(skinny):.2f}x "
            f"geometric mean of {len(skinny)}, {min(skinny):.2f}x at the worst |"
        )
    for name in ("fused_moe", "paged_decode"):
        gains = [g for line in benched if line["operator"] == name and (g := speedup(line))]
        if gains:
            rows.append(
                f"| {name} beside PyTorch | {geometric_mean(gains):.2f}x of {len(gains)} |"
            )
    rows += _search_goal(lines)
    return rows


def _search_goal(lines: Sequence[Line]) -> list[str]:
    searches = [line for line in lines if line["key"].startswith("search ")]
    losses = [
        line["found_us"] / line["best_us"] - 1 for line in searches if line["found_us"] is not None
    ]
    if not losses:
        return []
    share = max(line["num_trials"] / line["space_size"] for line in searches)
    near = sum(loss <= 0.03 for loss in losses)
    goal = "tuning within 3 % of the exhaustive best in <= 15 % of the configurations"
    worst = f"worst {max(losses):.1%}, at most {share:.0%} tried"
    return [f"| {goal} | {near} of {len(searches)} searches; {worst} |"]


def check_summary(lines: Sequence[Line]) -> list[str]:
    """Return how many checks were passed, and all that were not."""
    checks = [line for line in lines if line["key"].startswith("check ")]
    failed = [line for line in checks if line["refusals"]]
    rows = [f"{len(checks) - len(failed)} of {len(checks)} checks against float64 were passed."]
    return rows + [f"- {line['key']}: {'; '.join(line['refusals'])}" for line in failed]


def write_table(lines: Sequence[Line], path: Path) -> str:
    """Write the page and return its text."""
    by_key = {line["key"]: line for line in lines}
    machine, copy = by_key["environment"], by_key["copy"]["bytes_per_s"]
    benched = [line for line in lines if line["key"].startswith("bench ")]
    about = (
        f"{machine['runtime']}, torch {machine['torch']}, triton {machine['triton']}, Python "
        f"{machine['python']}. Copy bandwidth, read and written: {copy / 1e12:.2f} TB/s. Times "
        "are device times of graph replays over buffers of three times the cache; results of the "
        "timed calls were compared with float64. Shapes were drawn after tuning."
    )
    text = "\n".join(
        [
            f"# Kernels on {machine['device']}",
            "",
            about,
            "",
            *check_summary(lines),
            "",
            *goals(lines, copy),
            "",
            *bench_table(benched, copy),
            "",
        ]
    )
    path.write_text(text)
    return text


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def main() -> None:
    """Write the table of a state folder again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/kernels_gpu.md"))
    arguments = parser.parse_args()
    texts = (arguments.state / "results.jsonl").read_text().splitlines()
    print(write_table([json.loads(text) for text in texts], arguments.out))


if __name__ == "__main__":
    main()
