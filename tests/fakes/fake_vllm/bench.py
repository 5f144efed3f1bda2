"""The fake's ``bench serve``: a real client that writes a result as vLLM's does."""

import argparse
import asyncio
import json
import random
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from tests.fakes.fake_vllm.faults import fault

_VALUES = (
    "backend",
    "base-url",
    "endpoint",
    "model",
    "tokenizer",
    "dataset-name",
    "request-rate",
    "percentile-metrics",
    "metric-percentiles",
    "result-dir",
    "result-filename",
    "extra-body",
)
_NUMBERS = (
    "random-input-len",
    "random-output-len",
    "random-range-ratio",
    "random-prefix-len",
    "num-prompts",
    "max-concurrency",
    "seed",
    "ready-check-timeout-sec",
    "temperature",
)
_FLAGS = ("ignore-eos", "save-result", "save-detailed", "disable-tqdm")


@dataclass
class _Answer:
    ttft_s: float = 0.0
    gaps_s: list[float] = field(default_factory=list)
    num_output: int = 0
    text: str = ""
    error: str = ""


def main(words: list[str]) -> int:
    """Play and write the result; the exit code."""
    parser = argparse.ArgumentParser("vllm bench serve", allow_abbrev=False)
    for name in _VALUES:
        parser.add_argument(f"--{name}")
    for name in _NUMBERS:
        parser.add_argument(f"--{name}", type=float)
    for name in _FLAGS:
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args(words)
    if fault("bench_fails") is not None:
        raise SystemExit("ValueError: the benchmark broke")
    answers, took_s = asyncio.run(_play(given))
    result = _result(given, answers, took_s)
    path = Path(given.result_dir) / given.result_filename
    path.write_text(json.dumps(result) if fault("bench_garbage") is None else "not JSON")
    return 0


async def _play(given: argparse.Namespace) -> tuple[list[_Answer], float]:
    stream = random.Random(int(given.seed))
    length = int(given.random_prefix_len + given.random_input_len)
    prompts = [
        [stream.randrange(60, 450) for _ in range(length)] for _ in range(int(given.num_prompts))
    ]
    gate = asyncio.Semaphore(int(given.max_concurrency))
    started_s = time.perf_counter()
    async with aiohttp.ClientSession() as session:
        answers = await asyncio.gather(*(_one(given, session, gate, each) for each in prompts))
    return list(answers), time.perf_counter() - started_s


async def _one(
    given: argparse.Namespace,
    session: aiohttp.ClientSession,
    gate: asyncio.Semaphore,
    prompt: list[int],
) -> _Answer:
    body = {
        "model": given.model,
        "prompt": prompt,
        "max_tokens": int(given.random_output_len),
        "stream": True,
        **json.loads(given.extra_body),
    }
    answer = _Answer()
    async with gate:
        last_s = begun_s = time.perf_counter()
        async with session.post(given.base_url + given.endpoint, json=body) as response:
            if response.status != 200:
                answer.error = f"HTTP {response.status}"
                return answer
            async for line in response.content:
                if not line.startswith(b"data: ") or b"[DONE]" in line:
                    continue
                now_s = time.perf_counter()
                for choice in json.loads(line[6:])["choices"]:
                    if not answer.num_output:
                        answer.ttft_s = now_s - begun_s
                    else:
                        answer.gaps_s.append(now_s - last_s)
                    answer.num_output += len(choice["token_ids"])
                    answer.text += choice["text"]
                    last_s = now_s
    return answer


def _result(given: argparse.Namespace, answers: list[_Answer], took_s: float) -> dict[str, Any]:
    good = [each for each in answers if not each.error]
    num_output = sum(each.num_output for each in good)
    result: dict[str, Any] = {
        "date": "20261130-094207",
        "backend": given.backend,
        "model_id": given.model,
        "tokenizer_id": given.tokenizer,
        "num_prompts": int(given.num_prompts),
        "request_rate": given.request_rate,
        "burstiness": 1.0,
        "max_concurrency": int(given.max_concurrency),
        "duration": took_s,
        "completed": len(good),
        "failed": len(answers) - len(good),
        "total_input_tokens": len(good) * int(given.random_prefix_len + given.random_input_len),
        "total_output_tokens": num_output,
        "request_goodput": None,
        "output_throughput": num_output / took_s,
        "max_concurrent_requests": int(given.max_concurrency) + 1,
        "output_lens": [each.num_output for each in answers],
        "ttfts": [each.ttft_s for each in answers],
        "itls": [each.gaps_s for each in answers],
        "generated_texts": [each.text for each in answers],
        "errors": [each.error for each in answers],
    }
    latencies_s = {
        "ttft": [each.ttft_s for each in good],
        "tpot": [statistics.fmean(each.gaps_s) for each in good if each.gaps_s],
        "itl": [gap for each in good for gap in each.gaps_s],
        "e2el": [each.ttft_s + sum(each.gaps_s) for each in good],
    }
    for name, values in latencies_s.items():
        ordered = sorted(values) or [0.0]
        result[f"mean_{name}_ms"] = statistics.fmean(ordered) * 1e3
        result[f"median_{name}_ms"] = statistics.median(ordered) * 1e3
        for percentile in (50, 95, 99):
            place = min(len(ordered) * percentile // 100, len(ordered) - 1)
            result[f"p{percentile}_{name}_ms"] = ordered[place] * 1e3
    return result
