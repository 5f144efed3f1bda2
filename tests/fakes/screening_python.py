"""A program in the place of vLLM's interpreter: answers as the screening worker does.

Called as ``PROGRAM -P WORKER PORT MODEL [options]``. ``--seed=13`` ends it at the start,
``--seed=14`` at the first window; ``--max-num-seqs`` makes it slower where it is small.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until the end."""
    flag, worker, port, model, *words = sys.argv[1:]
    options = dict(word.removeprefix("--").split("=", 1) for word in words if "=" in word)
    _say(f"{flag} {Path(worker).name} {Path(model).name} {sorted(options.items())}")
    _say(str({k: v for k, v in os.environ.items() if k.startswith(("OMP", "VLLM"))}))
    if options.get("seed") == "13":
        sys.exit("ValueError: thirteen is no seed")
    speed_tok_s = 100.0 * int(options.get("max-num-seqs", 64))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({"pid": os.getpid(), "max_model_len": 512})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/tokenise":
                self._answer([ord(letter) % 100 for letter in body["text"]])
                return
            if options.get("seed") == "14":
                _say("RuntimeError: fourteen")
                os._exit(1)
            num_tokens = sum(body["output_tokens"])
            duration_s = num_tokens / speed_tok_s
            self._answer(
                {
                    "duration_s": duration_s,
                    "cpu_s": duration_s,
                    "num_output_tokens": num_tokens,
                    "first_token_s": [0.1] * len(body["prompts"]),
                    "whole_request_s": [0.2] * len(body["prompts"]),
                }
            )

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

        def _answer(self, value: Any) -> None:
            text = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
