"""Serves one worktree: ``python -m arbor.targets.kernel.server WORKTREE OPTIONS PORT``.

Answers one JSON line with one JSON line. A wrong candidate ends the start with exit code 1.
"""

import json
import os
import socketserver
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arbor.targets.kernel.config import KernelTargetConfig
from arbor.targets.serve_yaml import CONFIG_FILE, load_config


def main(arguments: Sequence[str]) -> int:
    """Check the worktree, then serve until the process is ended."""
    worktree, options_text, port = Path(arguments[0]), arguments[1], int(arguments[2])
    options = KernelTargetConfig.model_validate_json(options_text)
    if options.interpret:
        # before Triton is imported, which is when it looks
        os.environ["TRITON_INTERPRET"] = "1"
    from arbor.events.errors import ArborError  # noqa: PLC0415 - in the order of the above
    from arbor.kernels.architectures import KernelInputError  # noqa: PLC0415
    from arbor.targets.kernel.server.bench import KernelBench  # noqa: PLC0415
    from arbor.targets.kernel.server.parts import parts_of  # noqa: PLC0415

    try:
        config = load_config((worktree / CONFIG_FILE).read_text())
        bench = KernelBench(parts_of(options, config, worktree))
    except (ArborError, KernelInputError, OSError) as error:
        sys.stderr.write(f"kernel: {error}\n")
        return 1
    refusals = bench.refusals()
    if refusals:
        sys.stderr.writelines(f"kernel: {each}\n" for each in refusals)
        return 1
    sys.stdout.write(f"kernel: {len(bench.parts)} parts are right\n")
    sys.stdout.flush()
    _serve(bench, config, port)
    return 0


def _serve(bench: Any, config: Mapping[str, Any], port: int) -> None:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            request = json.loads(self.rfile.readline())
            answer = _answer(bench, config, request)
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    with socketserver.TCPServer(("127.0.0.1", port), Handler) as server:
        server.serve_forever()


def _answer(bench: Any, config: Mapping[str, Any], request: Mapping[str, Any]) -> Any:
    match request["do"]:
        case "state":
            return {"pid": os.getpid(), "config": dict(config)}
        case "window":
            return bench.window(request["seed"], request["num_requests"])
        case "distances":
            return bench.distances(request["seed"])
    return {"error": f"unknown request {request['do']!r}"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
