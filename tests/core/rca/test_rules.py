"""Classes of errors, each with a log of its own making and, where one misleads, a decoy beside."""

# ruff: noqa: E501 - logs are as wide as programs write them

import pytest

from arbor.core.rca import Diagnosis, Incident, diagnose
from arbor.core.rca.excerpt import numbered

Case = tuple[str, str, str]
"""Cause, group and fault."""


def _of(text: str, **known: object) -> Diagnosis:
    incident = Incident(lines=numbered(text.strip().splitlines()), **known)  # type: ignore[arg-type]
    return diagnose(incident)


def _expect(text: str, group: str, fault: str) -> None:
    found = _of(text)
    assert (found.group, found.fault) == (group, fault), found
    assert found.evidence
    assert found.remedy
    assert 0 < found.confidence_ratio <= 1
    assert found.blames_idea == (fault == "idea")


ENVIRONMENT = {
    "port": (
        "leftover_state",
        """
INFO 01-02 10:00:00 [api_server.py:1] starting
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/vllm/entrypoints/openai/api_server.py", line 9, in f
    sock.bind(addr)
OSError: [Errno 98] Address already in use
""",
    ),
    "store's port": (
        "leftover_state",
        """
[rank0]: torch.distributed.DistNetworkError: The server socket has failed to listen on any local
network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use
""",
    ),
    "another process holds the memory": (
        "leftover_state",
        """
(EngineCore pid=9) ERROR 01-02 10:00:00 [core.py:1] EngineCore failed to start.
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free. Process 4711 has 70.20 GiB memory in use. Process 9 has 7.80 GiB memory in use.
""",
    ),
    "disk": (
        "storage_full",
        """
  File "/opt/venv/lib/python3.12/site-packages/torch/_inductor/codecache.py", line 9, in write
    f.write(content)
OSError: [Errno 28] No space left on device: '/var/cache/inductor/ab/x.py'
""",
    ),
    "shared memory": (
        "storage_full",
        """
(Worker_TP1 pid=3) Fatal Python error: Bus error
shm: /dev/shm is 64M, 100% used
""",
    ),
    "memory of the host": (
        "oom",
        """
INFO 01-02 10:00:00 [weight_utils.py:1] Loading safetensors checkpoint shards: 50%
Killed
kernel: Out of memory: Killed process 88 (python3) total-vm:90000000kB, anon-rss:60000000kB
""",
    ),
    "missing module": (
        "dependency_or_version",
        """
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/layers/x.py", line 3, in <module>
    import deep_gemm
ModuleNotFoundError: No module named 'deep_gemm'
""",
    ),
    "missing library": (
        "dependency_or_version",
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
    ),
    "missing compiler": (
        "dependency_or_version",
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
    ),
    "library of another version": (
        "dependency_or_version",
        "ImportError: /opt/venv/x/_C.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameE",
    ),
    "numpy of another version": (
        "dependency_or_version",
        "ValueError: numpy.dtype size changed, may indicate binary incompatibility.",
    ),
    "name of another version": (
        "dependency_or_version",
        "ImportError: cannot import name 'ALL_LAYERS' from 'transformers.utils' (/opt/x.py)",
    ),
    "driver too old": (
        "dependency_or_version",
        "RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version",
    ),
    "memory error of a device": (
        "driver_or_hardware",
        """
NVRM: Xid (PCI:0000:17:00): 94, pid=77, name=python3, Contained: SM (0x1)
RuntimeError: CUDA error: uncorrectable ECC error encountered
""",
    ),
    "hung device": (
        "driver_or_hardware",
        """
[12345.6] amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=7, emitted seq=9
HW Exception by GPU node-1 (Agent handle: 0x5) reason :GPU Hang
""",
    ),
    "no device": (
        "driver_or_hardware",
        "RuntimeError: No HIP GPUs are available",
    ),
    "hub": (
        "network",
        """
requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub.example', port=443): Max retries exceeded
OSError: We couldn't connect to 'https://hub.example' to load the files, and couldn't find them in the cached files.
""",
    ),
    "wrong interface": (
        "network",
        """
RuntimeError: Gloo connectFullMesh failed with [../gloo/transport/tcp/pair.cc:144] no error
""",
    ),
    "cache of another build": (
        "stale_cache",
        """
  File "/opt/venv/lib/python3.12/site-packages/torch/_inductor/codecache.py", line 9, in load
    return pickle.load(f)
_pickle.UnpicklingError: invalid load key, '\\x00'.
""",
    ),
    "kernel cache": (
        "stale_cache",
        "FileNotFoundError: [Errno 2] No such file or directory: '/root/.triton/cache/ab/_fwd.cubin'",
    ),
    "permission": (
        "permission",
        "PermissionError: [Errno 13] Permission denied: '/root/.cache/vllm'",
    ),
    "stale lock": (
        "hang_or_timeout",
        """
[aiter] waiting for baton release at /root/.aiter/jit/build/lock_module_x
TimeoutError: Timed out waiting for engines to become ready
""",
    ),
    "disturbed measurement": (
        "measurement",
        """
base     output throughput tok/s 1000.0
variant  output throughput tok/s 930.0
telemetry: power cap reached, clocks dropped to 1200 MHz in the second arm
exit status 0
""",
    ),
}

ENVIRONMENT |= {
    "somebody else in the table": (
        "leftover_state",
        """
(EngineCore pid=77) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
|    0   N/A  N/A      55      C   VLLM::EngineCore    70000MiB |
""",
    ),
    "a device that is not well": (
        "driver_or_hardware",
        """
torch.AcceleratorError: CUDA error: unspecified launch failure
same configuration on another device: passes
""",
    ),
    "lost node": (
        "driver_or_hardware",
        "ray.exceptions.NodeDiedError: Task failed, the node was marked dead",
    ),
    "lost peer": (
        "network",
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:1] Connection closed by peer [10.0.0.2]:1",
    ),
    "transfer between nodes": (
        "network",
        "nixl._bindings.nixlRemoteDisconnectError: NIXL_ERR_REMOTE_DISCONNECT",
    ),
    "store that nobody answers": (
        "network",
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (10.0.0.1, 29500).",
    ),
    "torch without a device": (
        "dependency_or_version",
        "AssertionError: Torch not compiled with CUDA enabled",
    ),
}

IMPLEMENTATION = {
    "wrong flag": (
        "bad_flag",
        """
usage: vllm serve [-h]
vllm serve: error: argument --kv-cache-dtype: invalid choice: 'fp7' (choose from 'auto', 'fp8')
""",
    ),
    "wrong value": (
        "bad_flag",
        """
pydantic_core._pydantic_core.ValidationError: 1 validation error for SchedulerConfig
  Value error, max_num_batched_tokens (512) is smaller than max_model_len (4096).
""",
    ),
    "heads": (
        "bad_flag",
        "ValueError: Total number of attention heads (40) must be divisible by tensor parallel size (3).",
    ),
    "name of the patch": (
        "implementation_error",
        """
  File "/srv/overlay/sampler.py", line 44, in forward
    return fast_topk(logits)
NameError: name 'fast_topk' is not defined
""",
    ),
    "argument of the patch": (
        "implementation_error",
        """
  File "/srv/worktree/overlay/attention.py", line 44, in forward
    return super().forward(q, k, v, scale=1.0)
TypeError: forward() got multiple values for argument 'scale'
""",
    ),
    "memory of the patch": (
        "implementation_error",
        """
  File "/srv/overlay/kernels/rope.py", line 31, in launch
    _rope_kernel[grid](q, k)
RuntimeError: CUDA error: an illegal memory access was encountered
""",
    ),
    "memory of a library": (
        "memory_fault",
        """
Memory access fault by GPU node-2 (Agent handle: 0x1) on address 0x7f. Reason: Unknown.
Aborted (core dumped)
""",
    ),
    "segmentation fault": (
        "memory_fault",
        """
!!!!!!! Segfault encountered !!!!!!!
Segmentation fault (core dumped)
""",
    ),
    "tile": (
        "kernel_shape_or_layout",
        """
triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 294912, Hardware limit: 232448. Reducing block sizes or `num_stages` may help.
""",
    ),
    "no kernel": (
        "kernel_shape_or_layout",
        "RuntimeError: wrong! device_gemm with the specified compilation parameters does not support this GEMM problem",
    ),
    "head size": (
        "kernel_shape_or_layout",
        "ValueError: Head size 80 is not supported by FlashAttention. Supported head sizes are: [64, 128].",
    ),
    "shapes": (
        "kernel_shape_or_layout",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x4096 and 2048x4096)",
    ),
    "type": (
        "kernel_shape_or_layout",
        "NotImplementedError: \"add\" not implemented for 'Half'",
    ),
    "compiler": (
        "compiler",
        """
/tmp/x.mlir:10:5: error: failed to legalize operation 'tt.dot'
RuntimeError: PassManager::run failed
""",
    ),
    "inductor": (
        "compiler",
        "torch._inductor.exc.InductorError: LoweringException: AssertionError: expected size 4",
    ),
    "dynamo": (
        "compiler",
        "torch._dynamo.exc.Unsupported: Unsupported method call",
    ),
    "extension": (
        "compiler",
        """
FAILED: x.cuda.o
x.cu(10): error: identifier "foo" is undefined
ninja: build stopped: subcommand failed.
RuntimeError: Error building extension 'x'
""",
    ),
    "capture": (
        "graph_capture",
        """
torch.AcceleratorError: CUDA error: operation would make the legacy stream depend on a capturing blocking stream
""",
    ),
    "capture on AMD": (
        "graph_capture",
        "RuntimeError: HIP error: hipErrorStreamCaptureInvalidated",
    ),
    "cache of keys": (
        "oom",
        "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (3.91 GiB).",
    ),
    "weights": (
        "oom",
        """
INFO 01-02 10:00:00 [loader.py:1] Starting to load model
  File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/models/llama.py", line 9, in load_model
    self.create_weights()
torch.OutOfMemoryError: HIP out of memory. Tried to allocate 896.00 MiB. GPU 0 has a total capacity of 191.98 GiB of which 120.00 MiB is free.
""",
    ),
    "graph memory": (
        "oom",
        """
Capturing CUDA graph shapes:  20%|## | 7/35
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.
""",
    ),
    "python memory": ("oom", "MemoryError: cache of 49 sequences"),
    "unknown model": (
        "model_config",
        "ValueError: Model architectures ['FooForCausalLM'] are not supported for now.",
    ),
    "weights that do not fit": (
        "model_config",
        "KeyError: 'model.layers.0.mlp.experts.w13_weight_scale'",
    ),
    "collective": (
        "hang_or_timeout",
        """
[rank3]:[E101 00:00:00.1 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLGATHER) ran for 600000 milliseconds before timing out.
""",
    ),
    "engine that stands still": (
        "hang_or_timeout",
        "the load did not end within 60 s",
    ),
    "slow start": ("hang_or_timeout", "the server was not ready within 300 s"),
    "processor": ("unsupported_arch", "Illegal instruction (core dumped)"),
    "device": (
        "unsupported_arch",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    ),
    "capability": (
        "unsupported_arch",
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0.",
    ),
    "not a number": (
        "numerics",
        "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
    ),
    "wrong answers": (
        "numerics",
        """
gsm8k exact_match 0.01
GATE FAIL: gsm8k 0.01 < baseline 0.80 - 0.02
""",
    ),
    "kernel that differs": (
        "numerics",
        "AssertionError: Tensor-likes are not close! Mismatched elements: 77 / 1024 (7.5%)",
    ),
}

IMPLEMENTATION |= {
    "device of a tensor": (
        "implementation_error",
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    ),
    "library of kernels": (
        "unsupported_arch",
        "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file or directory for GPU arch : gfx1103",
    ),
    "quantisation of a newer device": (
        "unsupported_arch",
        "ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 89. Current capability: 80.",
    ),
    "attention": (
        "kernel_shape_or_layout",
        "ValueError: No valid attention backend found for cuda with head_size=40",
    ),
    "pass without a match": (
        "performance",
        """
INFO 01-02 10:00:00 [fusion.py:1] Replaced 0 patterns
output throughput 1000.0 tok/s
exit status 0
""",
    ),
    "scales that were not calibrated": (
        "numerics",
        """
WARNING 01-02 10:00:00 [kv.py:1] Using uncalibrated k_scale 1.0
kv fp8: 41/100
kv bf16: 98/100
GATE FAIL
""",
    ),
}

IDEA = {
    "slower": (
        "performance",
        """
base      output throughput 1210.4 tok/s
candidate output throughput 1101.9 tok/s
completed equal, failed 0
exit status 0
""",
    ),
    "slower by its share": (
        "performance",
        """
async scheduling on: tok/s -6.2%, mean_tpot_ms +7.0%
completed equal, failed 0, exit status 0
""",
    ),
    "coarse precision": (
        "numerics",
        """
weights int4: 41/100
weights int8: 97/100
weights bf16: 98/100
GATE FAIL
""",
    ),
    "coarse numbers": (
        "numerics",
        """
dtype=float16: logits contain nan in 7 of 8 prompts
dtype=bfloat16: num_nans = 0
GATE FAIL
""",
    ),
    "slower with fewer tokens kept": (
        "performance",
        """
max_num_batched_tokens 4096 -> 512
request_throughput base 9.10 candidate 7.80
gsm8k 0.951, no drop
num_preemptions_total 0 in both
""",
    ),
    "all of the memory": (
        "oom",
        """
INFO args: gpu_memory_utilization=0.99
INFO:     Application startup complete.
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 172.00 MiB.
""",
    ),
    "a combination": (
        "bad_flag",
        "RuntimeError: unsupported combination of int8, int4",
    ),
    "a combination by design": (
        "bad_flag",
        "ValueError: speculative decoding cannot be used with pipeline parallelism",
    ),
    "twice": ("bad_flag", "RuntimeError: weights are quantised already"),
    "checkpoint": (
        "model_config",
        "ValueError: Cannot find the config file for gptq",
    ),
}


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_faults_of_the_environment(name: str) -> None:
    group, text = ENVIRONMENT[name]
    _expect(text, group, "environment")


@pytest.mark.parametrize("name", IMPLEMENTATION)
def test_faults_of_the_implementation(name: str) -> None:
    group, text = IMPLEMENTATION[name]
    _expect(text, group, "implementation")


@pytest.mark.parametrize("name", IDEA)
def test_refuted_ideas(name: str) -> None:
    group, text = IDEA[name]
    _expect(text, group, "idea")


DECOYS = {
    "counters of a healthy device": (
        "oom",
        """
nvidia-smi: Uncorrectable ECC errors: 0, Xid: none
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
""",
    ),
    "a notice about tuning": (
        "hang_or_timeout",
        """
[aiter] shape is M:304, not found tuned config in a.csv, will use default config!
RPC call to sample_tokens timed out.
""",
    ),
    "its own process in the table": (
        "oom",
        """
(EngineCore pid=77) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
|    0   N/A  N/A      77      C   VLLM::EngineCore    70000MiB |
""",
    ),
    "a lock that was waited for, then memory": (
        "oom",
        """
[aiter] waiting for baton release at /root/.aiter/jit/build/lock_module_x
INFO:     Application startup complete.
torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.
""",
    ),
    "a module that was done without": (
        "oom",
        """
WARNING 01-02 10:00:00 [x.py:1] ModuleNotFoundError: No module named 'deep_ep', falling back to naive
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
""",
    ),
    "a port that another one was taken for": (
        "memory_fault",
        """
Port 8000 is already in use, trying port 8001 instead, will retry
INFO:     Application startup complete.
Memory access fault by GPU node-2 (Agent handle: 0x1) on address 0x7f. Reason: Unknown.
""",
    ),
    "memory that ran out before other ranks timed out": (
        "oom",
        """
(Worker_TP0 pid=3) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
[rank1]:[E101 00:00:00.1 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9)
(EngineCore pid=1) RuntimeError: cancelled
""",
    ),
    "help that speaks of memory": (
        "bad_flag",
        """
INFO 01-02 10:00:00 [x.py:1] if the server runs out of memory, lower gpu_memory_utilization
vllm: error: unrecognized arguments: --fast
""",
    ),
    "a limit that a warning speaks of": (
        "kernel_shape_or_layout",
        """
WARNING 01-02 10:00:00 [u.py:1] This can cause errors like `OSError: [Errno 24] Too many open files`
RuntimeError: get_kernel: cannot find kernel for head_dim=96
""",
    ),
    "the first exception of a chain": (
        "implementation_error",
        """
  File "/srv/overlay/x.py", line 1, in f
    y = z
UnboundLocalError: cannot access local variable 'z'

The above exception was the direct cause of the following exception:

RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
""",
    ),
}


@pytest.mark.parametrize("name", DECOYS)
def test_is_not_misled(name: str) -> None:
    group, text = DECOYS[name]
    assert _of(text).group == group


@pytest.mark.parametrize(
    "text",
    [
        "INFO loading nano-gpt",
        "INFO model requires_grad off",
        "the server ended",
        "loss 0.3\nstep 7 done",
        "INFO:     Application startup complete.\nGET /health 200 OK",
        "throughput 1000.0 tok/s\nexit status 0",
        "concurrency 8 throughput 500.0\nconcurrency 16 throughput 900.0\nexit status 0",
        "base throughput 500.0 tok/s candidate 610.0 tok/s\nexit status 0",
    ],
)
def test_what_no_rule_knows_blames_nobody(text: str) -> None:
    found = _of(text)
    assert (found.cause, found.group, found.fault) == ("unknown", "unknown", "unknown")
    assert found.confidence_ratio == 0
    assert not found.blames_idea
