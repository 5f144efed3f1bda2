"""Processes that wait for each other, for a lock, for a network, or for too long."""

from typing import Final

from arbor.core.rca.base import Rule
from arbor.core.rca.finders import all_of, any_of, anywhere, but_not, trouble

_HANG: Final = "hang_or_timeout"
_STANDS_STILL = (
    r"timed? ?out|no available shared memory broadcast|\bhang|deadlock|\bhung\b|"
    r"no (?:output|progress)|still waiting|not (?:ready|respond)|exceeded|stuck|watchdog"
)
_COLLECTIVE = (
    r"watchdog caught collective|collective operation timeout|watchdog thread terminated|"
    r"last enqueued work|(?:all_?reduce|all_?gather|broadcast|barrier|reduce_scatter|all_?to_?all|"
    r"collective)\w*.{0,60}(?:timed? ?out|hang|hung|stuck|deadlock|out of step)|"
    r"(?:NCCL|RCCL|gloo).{0,80}(?:timed? ?out|hang)|desync|monitoredBarrier"
)

RULES = (
    Rule(
        "jit_deadlock",
        _HANG,
        "kernel",
        "environment",
        "remove the stale lock and build the module in one process before the others start",
        all_of(
            anywhere(
                r"baton|(?:wait\w*|block\w*|acquir\w*|held|stuck)\b.*(?:\.lock\b|\block\b|"
                r"\blocked\b)|"
                r"\block\b.*(?:held|timed? ?out|stale)"
            ),
            anywhere(
                r"\bjit\b|torch_extensions|aiter|flashinfer|triton|inductor|\bbuild|ninja|compil"
            ),
            anywhere(_STANDS_STILL),
        ),
        0.85,
        "remove_locks",
    ),
    Rule(
        "network_init",
        "network",
        "communication",
        "environment",
        "name a network interface and address that all nodes reach (NCCL_SOCKET_IFNAME,"
        " GLOO_SOCKET_IFNAME, the master's address)",
        but_not(
            any_of(
                trouble(
                    r"socketStartConnect|connect to \S+ failed|no socket interface found|"
                    r"connectFullMesh|no route to host|network is unreachable|host is down|"
                    r"ncclRemoteError|(?:ibv_|\bIB\b|RoCE|NET/IB|mlx5).{0,80}(?:error|fail|"
                    r"timeout)|"
                    r"(?:TCPStore|client socket|c10d|rendezvous|master).{0,80}"
                    r"(?:timed? ?out|refused|failed to connect|unreachable)|"
                    r"DistNetworkError|failed to connect to (?:the )?(?:ray|gcs|head|master|"
                    r"driver)|"
                    r"unable to (?:connect|bind).{0,60}(?:address|interface|node)|"
                    r"GCS.{0,40}(?:unreachable|failed to connect)|bootstrap.{0,40}(?:fail|error)|"
                    r"\b(?:UCX|NIXL|nvshmem|rocshmem|mooncake)\w*.{0,80}(?:error|fail|"
                    r"unreachable|disconn)|"
                    r"(?:NIXL|UCX)_ERR_\w+"
                ),
                trouble(r"connection refused", also=r"NCCL|RCCL|gloo|TCPStore|rank|node"),
            ),
            trouble(_COLLECTIVE),
        ),
        0.8,
        "retry",
    ),
    Rule(
        "collective_hang",
        _HANG,
        "hardware",
        "environment",
        "the devices cannot reach each other directly: set iommu=pt and switch ACS off, or do"
        " without"
        " peer-to-peer (NCCL_P2P_DISABLE=1)",
        all_of(
            anywhere(_COLLECTIVE + "|" + _STANDS_STILL),
            anywhere(
                r"IO_PAGE_FAULT|\bACS\b.{0,30}(?:on|enabled|redirect)|DMAR:.*fault|"
                r"iommu.{0,30}(?:fault|transl)|P2P_DISABLE=1.*(?:complete|pass|work)"
            ),
        ),
        0.8,
    ),
    Rule(
        "collective_hang",
        _HANG,
        "communication",
        "implementation",
        "use another implementation of this collective, and let all ranks take part in the same"
        " order",
        any_of(
            trouble(_COLLECTIVE),
            all_of(
                anywhere(r"no available shared memory broadcast block|RPC call to \w+ timed out"),
                anywhere(
                    r"all_?reduce|all_?to_?all|all2all|collective|NCCL|RCCL|broadcast|quick|"
                    r"ep_rank|"
                    r"Worker_TP|tensor_parallel|data_parallel|expert_parallel|(?:[A-Z]P)[1-9]\b"
                ),
            ),
        ),
        0.75,
    ),
    Rule(
        "hang",
        _HANG,
        "framework",
        "implementation",
        "find out what it waits for (py-spy dump, a stack of every thread); it made no progress",
        any_of(
            trouble(
                r"RPC call to \w+ timed out|deadlock|did not respond|was not answered within|"
                r"did not end within|no (?:output|progress) (?:for|in|since)|heartbeat.{0,40}"
                r"(?:timeout|missed|lost)|\bhung\b|is hanging|stuck"
            ),
            anywhere(r"generation throughput: 0\.0 tokens/s, Running: [1-9]"),
            anywhere(r"no available shared memory broadcast block"),
        ),
        0.6,
    ),
    Rule(
        "timeout",
        _HANG,
        "framework",
        "implementation",
        "give it more time, or leave out what takes so long (compilation, capture, loading)",
        trouble(
            r"timed? ?out|TimeoutError|was not ready within|did not become ready|"
            r"(?:start(?:up)?|ready|health)\w*.{0,40}(?:exceeded|too long|timeout)|"
            r"deadline exceeded"
        ),
        0.6,
    ),
    Rule(
        "peer_lost",
        "network",
        "communication",
        "environment",
        "see the other ranks' logs for what ended one of them, and the network between them",
        trouble(
            r"connection (?:was )?(?:reset|closed|aborted) by (?:remote )?peer|broken pipe|"
            r"remote process exited|recvValue failed|NCCL error|ncclInternalError|ncclSystemError|"
            r"unhandled (?:system|cuda|hip) error"
        ),
        0.4,
        "retry",
    ),
)
