"""A vLLM engine inside one process, behind a few JSON requests: what trials are screened with.

Runs in vLLM's own environment, so nothing of Arbor is imported: ``python -P screening_worker.py
PORT MODEL [options of vllm serve]``. The options are parsed by vLLM itself, so one that the
server would refuse is refused here. Without a front end, an engine process and worker processes
a start costs a fifth of a server's, and one thread makes its numbers repeatable.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

HOST = "127.0.0.1"


class InProcessEngine:
    """Plays and scores token ids on an engine.

    Args:
        words: model and options, as ``vllm serve`` takes them.
    """

    def __init__(self, words: list[str]) -> None:
        # the module that defines the parser has moved between releases, this one has not
        from vllm.engine.arg_utils import EngineArgs  # noqa: PLC0415
        from vllm.entrypoints.cli.serve import make_arg_parser  # noqa: PLC0415
        from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415
        from vllm.v1.engine.llm_engine import LLMEngine  # noqa: PLC0415

        arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(words)
        arguments.model = arguments.model_tag or arguments.model
        self._engine = LLMEngine.from_engine_args(EngineArgs.from_cli_args(arguments))
        self._num_requests = 0

    def play(self, prompts: list[list[int]], output_tokens: list[int], open_at_once: int) -> Any:
        """Return token counts and times of requests of which so many are open at once, in s."""
        from vllm import SamplingParams  # noqa: PLC0415
        from vllm.sampling_params import RequestOutputKind  # noqa: PLC0415

        waiting = list(zip(prompts, output_tokens, strict=True))[::-1]
        begun_s: dict[str, float] = {}
        counts: dict[str, int] = {}
        firsts_s: list[float] = []
        wholes_s: list[float] = []
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        while waiting or begun_s:
            while waiting and len(begun_s) < open_at_once:
                prompt, num_tokens = waiting.pop()
                parameters = SamplingParams(
                    temperature=0.0,
                    max_tokens=num_tokens,
                    ignore_eos=True,
                    detokenize=False,
                    output_kind=RequestOutputKind.DELTA,
                )
                begun_s[self._add(prompt, parameters)] = time.perf_counter()
            for output in self._engine.step():
                name = output.request_id
                num_new = len(output.outputs[0].token_ids)
                if num_new and name not in counts:
                    firsts_s.append(time.perf_counter() - begun_s[name])
                counts[name] = counts.get(name, 0) + num_new
                if output.finished:
                    wholes_s.append(time.perf_counter() - begun_s.pop(name))
        return {
            "duration_s": time.perf_counter() - wall_s,
            "cpu_s": time.process_time() - cpu_s,
            "num_output_tokens": sum(counts.values()),
            "first_token_s": firsts_s,
            "whole_request_s": wholes_s,
        }

    def score(self, prompts: list[list[int]], num_likeliest: int) -> Any:
        """Return the log-probs of prompts' tokens and of the likeliest ones, position by position.

        Prompts are scored one at a time: vLLM's numbers depend on the batch.
        """
        from vllm import SamplingParams  # noqa: PLC0415

        scores = []
        for prompt in prompts:
            parameters = SamplingParams(
                temperature=0.0, max_tokens=1, prompt_logprobs=num_likeliest, detokenize=False
            )
            self._add(prompt, parameters)
            positions: list[Any] = []
            while self._engine.has_unfinished_requests():
                for output in self._engine.step():
                    positions = output.prompt_logprobs or positions
            scores.append(
                [
                    {str(token): entry.logprob for token, entry in position.items()}
                    for position in positions
                    if position is not None
                ]
            )
        return scores

    def tokenise(self, text: str) -> list[int]:
        """Return a text in the model's tokens, with nothing added."""
        tokens: list[int] = self._engine.get_tokenizer().encode(text, add_special_tokens=False)
        return tokens

    def max_model_len(self) -> int:
        """Return the longest sequence that is taken."""
        length: int = self._engine.model_config.max_model_len
        return length

    def _add(self, prompt: list[int], parameters: Any) -> str:
        self._num_requests += 1
        name = str(self._num_requests)
        # releases differ in what is returned; outputs carry the given name in all of them
        self._engine.add_request(name, {"prompt_token_ids": prompt}, parameters)
        return name


def handler_of(engine: InProcessEngine) -> type[BaseHTTPRequestHandler]:
    """Return a handler of requests for one engine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({"pid": os.getpid(), "max_model_len": engine.max_model_len()})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            work: dict[str, Callable[..., Any]] = {
                "/play": engine.play,
                "/score": engine.score,
                "/tokenise": engine.tokenise,
            }
            self._answer(work[self.path](**body))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing: the log is the engine's."""

        def _answer(self, value: Any) -> None:
            text = json.dumps(value).encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    return Handler


def main() -> None:
    """Load the engine of the command line, then answer until the end.

    A failed request ends the process: what broke is in its log.
    """
    port, *words = sys.argv[1:]
    engine = InProcessEngine(words)

    class Door(HTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            super().handle_error(request, client_address)
            os._exit(1)

    Door((HOST, int(port)), handler_of(engine)).serve_forever()


if __name__ == "__main__":
    main()
