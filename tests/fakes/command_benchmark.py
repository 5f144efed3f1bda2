"""A benchmark program as users write them: plays requests one by one and prints a result.

Run as ``python command_benchmark.py PORT SEED NUM_REQUESTS [MODE]``.
"""

import http.client
import json
import random
import sys
import time

TOKENS = 6


def complete(port: int, prompt: str) -> bool:
    """Return whether a completion came."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    body = {"prompt": prompt, "max_tokens": TOKENS}
    connection.request("POST", "/v1/completions", json.dumps(body))
    response = connection.getresponse()
    response.read()
    return response.status == http.client.OK


def main(port: int, seed: int, num_requests: int, mode: str = "json") -> None:
    """Play requests and print what came, in one of several ways."""
    if mode == "sleep":
        time.sleep(600)
    if mode == "crash":
        sys.exit("no such tokenizer")
    generator = random.Random(seed)
    started_s = time.perf_counter()
    good = sum(complete(port, str(generator.random())) for _ in range(num_requests))
    duration_s = time.perf_counter() - started_s
    result = {
        "completed": good,
        "failed": num_requests - good,
        "tokens": {"output": good * TOKENS, "input": num_requests},
        "duration": duration_s,
        "request_rate": "inf",
        "ttft": 1.5,
    }
    lines = ["Starting benchmark {not json"]
    if mode == "text":
        lines += [f"Successful requests: {good:,}", f"Failed requests: {num_requests - good}"]
    elif mode != "silent":
        lines.append(json.dumps(result, indent=2))
    sys.stdout.write("\n".join((*lines, "done", "")))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
