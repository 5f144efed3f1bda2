"""The fake's command line: ``vllm --version``, ``vllm serve`` and ``vllm bench serve``."""

import sys

from tests.fakes.fake_vllm.faults import fault
from tests.fakes.fake_vllm.options import VERSION, parser


def main() -> int:
    """Run a command; the exit code."""
    words = sys.argv[1:]
    if words == ["--version"]:
        sys.stdout.write(f"INFO a greeting\n{VERSION}\n")
        return 0
    if words == ["serve", "--help=all"]:
        sys.stdout.write(parser().format_help())
        return 0
    if words[:2] == ["bench", "serve"]:
        from tests.fakes.fake_vllm import bench  # noqa: PLC0415 - aiohttp is slow to import

        return bench.main(words[2:])
    if words[:1] == ["serve"]:
        given = parser().parse_args(words[1:])
        if fault("die_at_start") is not None:
            sys.stderr.write("RuntimeError: CUDA error: out of memory\n")
            return 1
        from tests.fakes.fake_vllm.serve import serve  # noqa: PLC0415 - as above

        return serve(given)
    sys.stderr.write(f"unknown command: {words}\n")
    return 2
