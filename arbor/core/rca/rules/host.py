"""What stands in the way on the host: full disks, busy ports, leftovers, caches, network."""

from arbor.core.rca.base import Rule
from arbor.core.rca.finders import all_of, any_of, anywhere, but_not, through_frames, trouble
from arbor.core.rca.quantities import another_process_holds_memory, is_nearly_full

_CACHES = (
    r"torch_compile_cache|inductor_cache|torchinductor|torch_aot_compile|\.triton[/\\]cache|"
    r"triton_cache|torch_extensions|\bcomgr\b|miopen.*\.(?:udb|ukdb)|jit_cache|compile_cache"
)
_CACHE_WORDS = (
    r"\b(?:compil\w+|jit|kernel|graph|triton|inductor|autotun\w+|tuning|aot|build|artifact|code)"
    r"[ _-]?cache"
)
_SHARED = r"/dev/shm"  # noqa: S108 - only looked for
_FULL = (
    r"no space left on device|disk quota exceeded|ENOSPC|\[Errno (?:28|122)\]|disk (?:is )?full"
)

RULES = (
    Rule(
        "shm_full",
        "storage_full",
        "hardware",
        "environment",
        "give the container more shared memory (--shm-size, an emptyDir in memory, --ipc=host)",
        any_of(
            trouble(rf"{_SHARED}.*(?:{_FULL})|(?:{_FULL}).*{_SHARED}"),
            trouble(
                r"bus error|SIGBUS|shared memory segment|insufficient shared memory|"
                r"might be caused by insufficient shared memory|shm_open.*fail",
                also=rf"{_SHARED}|shared memory|\bshm\b",
            ),
            is_nearly_full("shared_memory"),
        ),
        0.9,
        "end_leftovers",
    ),
    Rule(
        "disk_full",
        "storage_full",
        "hardware",
        "environment",
        "free disk space, then resume",
        any_of(trouble(_FULL), is_nearly_full("disk")),
        0.95,
        "free_disk",
    ),
    Rule(
        "port_in_use",
        "leftover_state",
        "application",
        "environment",
        "start again on another port; end what is left of an earlier server",
        trouble(
            r"address already in use|EADDRINUSE|\[Errno 98\]|"
            r"port \d+ (?:is |was )?(?:already )?(?:busy|taken|in use|occupied|not available)|"
            r"only one usage of each socket address|failed to bind.*port"
        ),
        0.95,
        "end_leftovers",
    ),
    Rule(
        "leftover_gpu_process",
        "leftover_state",
        "hardware",
        "environment",
        "end the process of an earlier run that holds the device's memory, then start again",
        another_process_holds_memory,
        0.85,
        "end_leftovers",
    ),
    Rule(
        "stale_lock",
        "leftover_state",
        "framework",
        "environment",
        "remove the lock that an ended process left behind",
        trouble(
            r"(?:file )?lock\b.*(?:could not be acquired|timed? ?out|held by|stale)|"
            r"(?:could not|cannot|failed to|unable to) (?:acquire|obtain|get).{0,30}\block\b|"
            r"resource temporarily unavailable.*lock|another (?:instance|process).*(?:running|"
            r"lock)"
        ),
        0.8,
        "remove_locks",
    ),
    Rule(
        "leftover_shared_state",
        "leftover_state",
        "communication",
        "environment",
        "remove what an earlier run left (shared memory, sockets), then start again",
        trouble(
            r"FileExistsError.*(?:/psm_|shm|sock|ipc)|(?:shm|shared memory|segment|socket).*"
            r"already exists|/dev/shm/\S+.*(?:exists|stale)|"
            r"(?:orphan|leftover|left[- ]over|zombie|stale)\w* (?:process|server|worker|engine)"
        ),
        0.8,
        "end_leftovers",
    ),
    Rule(
        "too_many_open_files",
        "leftover_state",
        "hardware",
        "environment",
        "raise the limit of open files (ulimit -n), or end what holds them",
        trouble(r"too many open files|\bEMFILE\b|\bENFILE\b|can't start new thread"),
        0.85,
        "end_leftovers",
    ),
    Rule(
        "stale_cache",
        "stale_cache",
        "compiler",
        "environment",
        "remove the compile caches; they were made by another version, device or configuration",
        any_of(
            # a graph that was loaded, not compiled, fails in its own generated code
            but_not(
                all_of(
                    anywhere(
                        r"load\w* .*(?:compiled|graph|artifact|kernel|engine).*cache|"
                        r"found \S*cache\S*|cache hit|loaded? from (?:the )?(?:\w+ )?cache|"
                        r"us(?:e|ing) (?:the )?cached (?:graph|kernel|artifact|engine)"
                    ),
                    through_frames(
                        r"(?:Attribute|Key|Assertion|Index|Type|Value|Runtime|Name)Error", _CACHES
                    ),
                ),
                trouble(r"out of memory|illegal|fault|timed? ?out"),
            ),
            trouble(
                rf"(?:{_CACHES}|{_CACHE_WORDS}).*(?:corrupt|incompatible|mismatch|stale|invalid|"
                r"truncated|unpickl|outdated|different (?:version|arch))|"
                rf"(?:corrupt|incompatible|stale|outdated|truncated)\w*.{{0,40}}(?:{_CACHE_WORDS})"
            ),
            through_frames(
                r"UnpicklingError|invalid load key|EOFError|Ran out of input|"
                r"FileNotFoundError.*\.(?:hsaco|cubin|so|json|ttir)|file too short|bad magic",
                rf"{_CACHES}|codecache|cache_manager|pickle",
            ),
            trouble(
                rf"(?:file too short|invalid ELF|bad magic|FileNotFoundError).*(?:{_CACHES})|"
                rf"(?:{_CACHES}).*(?:file too short|invalid ELF|bad magic|No such file)"
            ),
        ),
        0.8,
        "clear_caches",
    ),
    Rule(
        "permission_denied",
        "permission",
        "hardware",
        "environment",
        "make the file writable, or point the program to a folder of its own",
        trouble(
            r"permission denied|\bEACCES\b|pidfd_getfd|ptrace.*not permitted|\[Errno 13\]|"
            r"read-only file system|\[Errno 30\]"
        ),
        0.8,
    ),
    Rule(
        "network_download",
        "network",
        "application",
        "environment",
        "use a local copy (HF_HUB_OFFLINE=1 and a path), or try again later",
        any_of(
            trouble(
                r"^(?!.*(?:localhost|127\.0\.0\.1|0\.0\.0\.0)).*(?:"
                r"HfHubHTTPError|LocalEntryNotFoundError|GatedRepoError|RepositoryNotFoundError|"
                r"OfflineModeIsEnabled|(?:429|50[0234]) (?:client|server) error|too many requests|"
                r"(?:HTTPS?ConnectionPool|ConnectTimeout|ReadTimeout|SSLError|"
                r"NameResolutionError|MaxRetryError|ProxyError)|"
                r"(?:couldn't|could not|failed to|can't|unable to) (?:connect|reach|resolve|"
                r"download)"
                r".{0,60}(?:https?://|hub|host|url|model))"
            ),
            trouble(r"temporary failure in name resolution|name or service not known"),
        ),
        0.85,
        "retry",
    ),
    Rule(
        # said by Arbor before a start; vLLM says the second
        "device_busy",
        "oom",
        "hardware",
        "environment",
        "end what else runs on the device, or let fewer servers share it",
        trouble(
            r"device is busy: others hold memory|free memory on device .* is less than desired"
        ),
        0.9,
        "retry",
    ),
    Rule(
        "foreign_load",
        "measurement",
        "hardware",
        "environment",
        "measure again when the machine is quieter",
        trouble(r"foreign load"),
        0.9,
        "retry",
    ),
    Rule(
        "worker_died",
        "unknown",
        "",
        "environment",
        "see logs/ for what ended the bench, such as a lack of memory; then try again",
        trouble(r"the (?:bench|specialist) died in each of|the guard did not (?:start|report)"),
        0.9,
        "retry",
    ),
)
