"""`python -m benchmarks.models FOLDER --shape NAME [--int8 FOLDER]`: makes models to serve.

Runs wherever torch, tokenizers and safetensors are, such as vLLM's own environment. What is
there is not made again.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.models.checkpoint import is_complete, make_model, stamp_of
from benchmarks.models.quantised import make_twin, twin_stamp
from benchmarks.models.shapes import SHAPES


def main(words: Sequence[str] | None = None) -> int:
    """Make what the command line names; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="llama-35m")
    parser.add_argument("--int8", type=Path, help="folder of the eight-bit twin")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args(words)
    shape = SHAPES[options.shape]
    if not is_complete(options.folder, stamp_of(shape, options.seed)):
        begin_s = time.monotonic()
        facts = make_model(shape, options.folder, options.seed, options.device)
        _say(options.folder, facts, time.monotonic() - begin_s)
    if options.int8 is not None and not is_complete(options.int8, twin_stamp(options.folder)):
        begin_s = time.monotonic()
        facts = make_twin(options.folder, options.int8)
        _say(options.int8, facts, time.monotonic() - begin_s)
    return 0


def _say(folder: Path, facts: dict[str, float], seconds: float) -> None:
    figures = ", ".join(f"{name} {value:.6g}" for name, value in facts.items())
    print(f"made {folder} in {seconds:.0f} s: {figures}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
