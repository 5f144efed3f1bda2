"""Lines that vLLM logs prove entries, or the lack of others does."""

from arbor.core.witness import has_witness
from arbor.events.types import Edit, Scalar, Witness
from arbor.targets.vllm.catalog import load_catalog
from arbor.targets.vllm.log_proof import log_proofs

LINES = (
    "INFO [scheduler.py:226] Chunked prefill is enabled with max_num_batched_tokens=4096.",
    "INFO [vllm.py:669] Asynchronous scheduling is enabled.",
    "INFO [rocm.py:606] Using TRITON_ATTN backend (selected via --attention-backend).",
    "INFO [fp8.py:300] Using 'AITER' Fp8 MoE backend (out of potential backends",
    "INFO [cache.py:261] Using fp8 data type to store kv cache. It reduces",
)


def proofs(config: dict[str, Scalar], *more: str) -> dict[str, Scalar]:
    return log_proofs(load_catalog().entries, config, (*LINES, *more))


def test_values_must_be_those_that_were_set() -> None:
    right = proofs({"args.max-num-batched-tokens": 4096, "args.attention-backend": "TRITON_ATTN"})
    assert {"log.max_num_batched_tokens", "log.attention_backend_amd"} <= right.keys()
    wrong = proofs({"args.max-num-batched-tokens": 409, "args.attention-backend": "ROCM_ATTN"})
    assert not {"log.max_num_batched_tokens", "log.attention_backend_amd"} & wrong.keys()


def test_names_of_kernels_in_any_case() -> None:
    assert "log.experts_backend_amd" in proofs({"args.moe-backend": "aiter"})
    assert "log.experts_backend_amd" not in proofs({"args.moe-backend": "triton"})


def test_a_line_that_must_not_be_there() -> None:
    assert "log.async_scheduling" in proofs({})
    warning = "Async scheduling will be disabled because it is not supported"
    assert "log.async_scheduling" in proofs({}, "nothing of it")
    assert "log.async_scheduling" not in proofs({}, f"WARNING sync scheduling: {warning}")
    assert "log.cpu_tcmalloc" in proofs({})
    broken = "ERROR: ld.so: object 'libtcmalloc_minimal.so.4' from LD_PRELOAD cannot be preloaded"
    assert "log.cpu_tcmalloc" not in proofs({}, broken)


def test_a_proof_is_a_witness() -> None:
    edits = (Edit(key="args.kv-cache-dtype", value="fp8"),)
    witness = Witness(kind="config", key="log.kv_cache_fp8")
    config: dict[str, Scalar] = {"args.kv-cache-dtype": "fp8"}
    assert has_witness(witness, edits, (), config | proofs(config))[0]
    assert not has_witness(witness, edits, (), config)[0]
