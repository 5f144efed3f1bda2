"""What vLLM says of its configuration counts, not what it was told."""

from pathlib import Path

import pytest

from arbor.events.types import Scalar
from arbor.targets.vllm.start_log import is_same, parse_start_log, read_start_log

Config = dict[str, Scalar]

ARGS = (
    "(APIServer pid=1) INFO 11-30 09:42:07 [api_utils.py:286] non-default args: {'model_tag': "
    "'/models/tiny', 'max_num_seqs': 64, 'quantization': 'fp8', 'async_scheduling': True, "
    "'attention_config': AttentionConfig(backend=<AttentionBackendEnum.FLASH_ATTN: 'x.Y'>), "
    "'compilation_config': {'mode': None, 'use_inductor_graph_partition': True}}"
)
ENGINE = (
    "(EngineCore pid=2) INFO 11-30 09:42:18 [core.py:133] Initializing a V1 LLM engine (v0.32.0) "
    "with config: model='/models/tiny', speculative_config=None, dtype=torch.bfloat16, "
    "max_seq_len=1024, tensor_parallel_size=1, quantization=fp8_per_tensor, enforce_eager=False, "
    "kv_cache_dtype=auto, structured_outputs_config=StructuredOutputsConfig(backend='auto', "
    "reasoning_parser=''), enable_prefix_caching=True, compilation_config={'mode': "
    "<CompilationMode.DYNAMO_TRACE_ONCE: 2>, 'custom_ops': ['none'], 'splitting_ops': [], "
    "'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'dynamic_shapes_config': "
    "{'type': <DynamicShapesType.BACKED: 'backed'>}, 'pass_config': {'fuse_norm_quant': False}}"
)
FACTS = """\
INFO [kv_cache_utils.py:2327] CPU KV cache size: 131,072 tokens, Maximum concurrency for 1,024 \
tokens per request: 128.00x
INFO [scheduler.py:307] Chunked prefill is enabled with max_num_batched_tokens=4096.
INFO Model loading took 15.2209 GiB and 12.2 seconds
INFO Using AttentionBackendEnum.FLASH_ATTN backend.
""".splitlines()


def test_the_engine_has_the_last_word() -> None:
    log = parse_start_log([ARGS, ENGINE])
    assert log.version == "0.32.0"
    config: Config = {
        "args.model": "/models/tiny",
        "args.max-model-len": 2048,
        "args.dtype": "bfloat16",
        "args.enforce-eager": True,
        "args.enable-prefix-caching": True,
        "args.kv-cache-dtype": "fp8",
        "args.quantization": "fp8",
        "args.compilation-config.mode": 2,
        "args.compilation-config.cudagraph_mode": "FULL_AND_PIECEWISE",
        "args.compilation-config.custom_ops": '["none"]',
        "args.compilation-config.pass_config.fuse_norm_quant": True,
        "args.structured-outputs-config.backend": "auto",
    }
    assert log.resolved(config) == config | {
        "args.max-model-len": 1024,
        "args.enforce-eager": False,
        "args.kv-cache-dtype": "auto",
        "args.compilation-config.pass_config.fuse_norm_quant": False,
    }


def test_what_the_engine_does_not_show_was_parsed_or_is_a_default() -> None:
    log = parse_start_log([ARGS, ENGINE])
    config: Config = {
        "args.max-num-seqs": 64,
        "args.block-size": 128,
        "args.compilation-config.use_inductor_graph_partition": True,
        "args.attention-config.backend": "FLASH_ATTN",
    }
    assert log.resolved(config) == config
    assert log.resolved({"args.max-num-seqs": 32}) == {"args.max-num-seqs": 64}


def test_without_the_list_of_options_nothing_is_known_of_them() -> None:
    assert parse_start_log([ENGINE]).resolved({"args.block-size": 128, "env.A": "1"}) == {
        "env.A": "1"
    }


def test_what_the_log_denies() -> None:
    denied = "WARNING Async scheduling will be disabled because it is not supported on CPU."
    unknown = "WARNING Unknown vLLM environment variable detected: VLLM_CPU_SGL_KERNEL"
    preload = "ERROR: ld.so: object 'x.so' from LD_PRELOAD cannot be preloaded: ignored."
    config: Config = {
        "args.async-scheduling": True,
        "env.VLLM_CPU_SGL_KERNEL": "1",
        "env.LD_PRELOAD": "x.so",
        "env.OMP_NUM_THREADS": "1",
    }
    assert parse_start_log([ARGS, ENGINE]).resolved(config) == config
    assert parse_start_log([ARGS, denied, unknown, preload]).resolved(config) == {
        "args.async-scheduling": False,
        "env.OMP_NUM_THREADS": "1",
    }


def test_sizes() -> None:
    assert parse_start_log(FACTS).facts == {
        "kv_cache_tokens": 131_072,
        "max_concurrency_ratio": 128.0,
        "max_num_batched_tokens": 4096,
        "model_memory_gib": 15.2209,
        "attention_backend": "FLASH_ATTN",
    }


@pytest.mark.parametrize(
    ("line", "is_cached"),
    [
        ("INFO model loaded", None),
        ("INFO Directly load AOT compilation from path /x", True),
        ("INFO Directly load the compiled graph(s) for compile range (1, 2) from the cache", True),
        ("INFO saved AOT compiled function to /x", False),
        ("WARNING Compiling model again due to a load failure from /x", False),
    ],
)
def test_where_compiled_code_came_from(line: str, is_cached: bool | None) -> None:
    assert parse_start_log([line]).is_code_cached is is_cached


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    assert read_start_log(tmp_path / "log").lines == ()


@pytest.mark.parametrize(
    ("asked", "shown", "is_equal"),
    [
        (True, True, True),
        (True, 1, False),
        (1, 1.0, True),
        ("fp8", "fp8_per_tensor", True),
        ("fp8", "fp", False),
        ("FLASH_ATTN", ("FLASH_ATTN", "a.b"), True),
        ("[1, 2]", [1, 2], True),
        (3, None, False),
        ("auto", None, False),
    ],
)
def test_spellings(asked: bool | float | str, shown: object, is_equal: bool) -> None:
    assert is_same(asked, shown) is is_equal
