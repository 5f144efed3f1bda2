"""Memory that was missing or was touched where it must not be."""

from typing import Final

from arbor.core.rca.base import Rule
from arbor.core.rca.finders import (
    all_of,
    any_of,
    anywhere,
    but_not,
    raised,
    through_frames,
    trouble,
)
from arbor.core.rca.patched import in_patch
from arbor.core.rca.quantities import asks_for_all_memory

_DEVICE_OUT = (
    r"(?:CUDA|HIP|XPU|GPU|device)[^.]{0,30}out of memory|OutOfMemoryError|"
    r"(?:hip|cuda)ErrorOutOfMemory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|"
    r"BLAS_STATUS_ALLOC_FAILED|failed to allocate .{0,40}(?:device|gpu|vram)|"
    r"HSA_STATUS_ERROR_OUT_OF_RESOURCES|RESOURCE_EXHAUSTED"
)
_ILLEGAL = (
    r"memory access fault by gpu|illegal memory access|illegaladdress|misaligned address|"
    r"HSA_STATUS_ERROR_(?:MEMORY|EXCEPTION|INVALID_ADDRESS)\w*|VM_L2_PROTECTION_FAULT|"
    r"page fault \(src_id|out[- ]of[- ](?:range|bounds) (?:shared|local|global)|"
    r"\bXid\b.*: (?:13|31)\b|device-side assert|unspecified launch failure|"
    r"HSAIL operation resulted in a hardware exception|cudaErrorLaunchFailure|"
    r"invalid __(?:global|shared|local)__ (?:read|write)"
)
_OOM: Final = "oom"

RULES = (
    Rule(
        "kernel_resources",
        "kernel_shape_or_layout",
        "kernel",
        "implementation",
        "use smaller tiles, fewer stages or fewer warps: the kernel asks for more than a unit has",
        trouble(
            r"out of resources?: ?(?:shared memory|threads|registers|tensor memory)|"
            r"OutOfResources|too many resources requested for launch|"
            r"invalid configuration argument|exceeds? .{0,30}(?:shared memory|LDS) (?:limit|size)|"
            r"(?:shared memory|LDS|local memory) .{0,40}exceeds?|uses too much shared data"
        ),
    ),
    Rule(
        "graph_capture",
        "graph_capture",
        "compiler",
        "implementation",
        "allocate and synchronise outside of the capture, on the capture's stream; or leave the"
        " operation out of the graph",
        trouble(
            r"(?:not permitted|not allowed|unsupported|prohibited).{0,40}(?:stream is )?captur|"
            r"(?:cuda|hip)ErrorStreamCapture\w*|(?:cuda|hip)Graph\w*.{0,40}(?:fail|error|invalid)|"
            r"(?:graph|stream) capture.{0,40}(?:fail|invalid|error|broken|not supported)|"
            r"legacy stream depend on a capturing|captures underway|"
            r"(?:during|while|in|under) (?:CUDA|HIP)? ?graph captur|capture (?:was )?invalidated|"
            r"(?:CUDA|HIP) ?graph.{0,60}(?:not supported|unsupported|incompatible|re-?record)"
        ),
    ),
    Rule(
        "oom_host",
        _OOM,
        "hardware",
        "environment",
        "free host memory, or let fewer processes load at once; then try again",
        any_of(
            anywhere(
                r"Out of memory: Killed process|oom[-_ ]?kill(?:er|ed)?\b.*(?:\b[1-9]|invoked|"
                r"proc)|"
                r"OOMKilled|running low on memory|memory cgroup out of memory|"
                r"killed by the (?:OS|kernel|OOM)\b.*(?:memory|OOM)|oom_reaper"
            ),
            all_of(
                trouble(r"\bkilled\b|SIGKILL|signal 9|exit (?:code|status)[ :]*137"),
                anywhere(r"oom[-_ ]?kill|out of memory|memory (?:cgroup|limit)|dmesg.*memory"),
            ),
        ),
        0.85,
        "retry",
    ),
    Rule(
        "oom_host",
        _OOM,
        "hardware",
        "implementation",
        "ask for less host memory: fewer sequences, less swap or offload, smaller caches",
        any_of(
            raised("MemoryError"),
            trouble(
                unless=r"ibv_|infiniband|memlock",
                pattern=r"cannot allocate memory|can't allocate memory|std::bad_alloc|"
                r"DefaultCPUAllocator|"
                r"\bENOMEM\b|unable to allocate \S+ [KMGT]iB|(?:pinned|host) memory.*fail|"
                r"not enough (?:host|system|CPU) memory",
            ),
        ),
        0.8,
    ),
    Rule(
        "oom_kv_cache",
        _OOM,
        "framework",
        "implementation",
        "leave more memory to the KV cache: a higher memory fraction, fewer or shorter sequences,"
        " smaller weights, or more devices",
        any_of(
            trouble(
                r"no available memory for the cache|available KV cache memory[:=] ?-|"
                r"(?:not enough|insufficient|too little).{0,60}"
                r"\bKV[- ]?cache|KV[- ]?cache.{0,80}(?:larger than|exceed|not enough|insufficient|"
                r"needed)|larger than the maximum number of tokens that can be stored|"
                r"max(?:imum)?[ _]seq\w*[ _]len.{0,80}KV cache|not enough memory.*mem[-_]fraction|"
                r"not enough (?:KV|cache|blocks|pages)|too few (?:KV )?blocks|"
                r"(?:cache|KV) (?:blocks|pages|pool).{0,40}(?:too small|exhausted)"
            ),
            all_of(
                trouble(r"free memory on device.*less than desired"),
                anywhere(r"free memory on device"),
            ),
        ),
    ),
    Rule(
        "oom_runtime",
        _OOM,
        "framework",
        "idea",
        "leave room beside the pool: this memory fraction leaves none to anything else",
        all_of(trouble(_DEVICE_OUT), asks_for_all_memory),
        0.8,
    ),
    Rule(
        "oom_graph_capture",
        _OOM,
        "framework",
        "implementation",
        "leave memory to the graphs: a lower memory fraction, fewer or smaller captured sizes,"
        " fewer sequences",
        any_of(
            through_frames(
                _DEVICE_OUT, r"cuda_?graph|graph_runner|capture_model|_dummy_(?:sampler_)?run"
            ),
            trouble(r"out of memory.{0,60}(?:warming up|capturing|dummy requests|graph)"),
            trouble(r"(?:captur\w*|graphs?).{0,60}out of memory|Capture cuda graph failed"),
            trouble(
                _DEVICE_OUT,
                also=r"Capturing .*?(?:\d%|\d/\d)",
                unless=r"startup complete|running:",
            ),
        ),
    ),
    Rule(
        "oom_weights",
        _OOM,
        "framework",
        "implementation",
        "make the weights smaller on a device: more devices, quantised weights, a loader that"
        " needs"
        " less at its peak",
        any_of(
            through_frames(
                _DEVICE_OUT,
                r"load_model|model_loader|weight_utils|process_weights|load_weights|"
                r"create_weights|"
                r"safetensors",
            ),
            trouble(
                _DEVICE_OUT,
                also=r"(?:loading (?:safetensors|checkpoint|pt|weights)|starting to load)",
                unless=r"model loading took|loading weights took|weights? loaded|"
                r"KV cache size|startup complete|# GPU blocks",
            ),
        ),
    ),
    Rule(
        "oom_runtime",
        _OOM,
        "framework",
        "implementation",
        "ask for less memory: a lower memory fraction, fewer sequences, smaller batches of tokens",
        trouble(_DEVICE_OUT + r"|\bout of memory\b"),
        0.8,
    ),
    Rule(
        "implementation_error",
        "implementation_error",
        "kernel",
        "implementation",
        "correct the patch: its own code touches memory that is not its own (look at the width of"
        " offsets, at masks and at strides)",
        in_patch(_ILLEGAL + r"|segmentation fault"),
        0.85,
    ),
    Rule(
        "illegal_memory_access",
        "memory_fault",
        "kernel",
        "implementation",
        "use another implementation of this kernel for this shape, or correct its bounds",
        any_of(anywhere(_ILLEGAL.replace(r"device-side assert|", "")), trouble(_ILLEGAL)),
        0.8,
    ),
    Rule(
        "memory_fault",
        "memory_fault",
        "kernel",
        "implementation",
        "use another implementation of this operation, or correct the native code",
        but_not(
            any_of(
                trouble(r"segmentation fault|\bSIGSEGV\b|segfault at|general protection fault"),
                trouble(
                    r"(?:double free|corrupted (?:size|double-linked)|heap corruption|"
                    r"free\(\): invalid|malloc\(\):|stack smashing|buffer overflow)"
                ),
            ),
            trouble(r"LLVM ERROR|ptxas|clang"),
        ),
        0.7,
    ),
)
