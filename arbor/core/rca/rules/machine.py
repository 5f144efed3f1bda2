"""Broken, lost or unsuitable devices and drivers: nothing that a setting could be blamed for."""

from typing import Final

from arbor.core.rca.base import Rule
from arbor.core.rca.finders import any_of, anywhere, trouble

_GROUP: Final = "driver_or_hardware"

RULES = (
    Rule(
        "hardware_fault",
        _GROUP,
        "hardware",
        "environment",
        "take the device out of use and repeat on another one; its owner has to look at it",
        anywhere(
            # a count of none is no fault
            r"^(?!.*(?:errors?|count|xid)\W{0,3}(?:0|none)\b)(?!.*\bno\b.*(?:error|xid|event)).*(?:"
            # Xid 48, 63, 64, 92, 94, 95: memory errors; 74: NVLink; 79: lost
            r"\bXid\b.*: (?:48|63|64|74|79|92|94|95)\b|fallen off the bus|GPU is lost|"
            r"uncorrect(?:able|ed)\b.*\b(?:error|ECC)|double[- ]bit|ECC error|"
            r"\bRAS\b.*(?:poison|error|fatal)|\bMCE\b|machine check|\[Hardware Error\]|"
            r"ERREVENT_ATHUB|poison consumption|row remapping failure|PCIe Bus Error.*(?:Fatal|"
            r"Unc))"
        ),
        0.95,
        "retry",
    ),
    Rule(
        "driver_firmware",
        _GROUP,
        "hardware",
        "environment",
        "the driver or firmware hung: reset the device, update them, repeat elsewhere meanwhile",
        any_of(
            anywhere(
                # Xid 38, 61, 62: firmware; 109, 110, 119, 120: context switch, GSP
                r"\bXid\b.*: (?:38|61|62|109|110|119|120)\b|GPU reset (?:begin|succeeded|failed)|"
                r"amdgpu.*(?:ring \S+ timeout|failed to (?:load|remove|suspend|resume))|"
                r"MES (?:failed|might)|\b(?:PSP|SMU|GSP)\b.*(?:fail|timeout|hang|error)|"
                r"nvidia-smi.*\bERR!|reason ?: ?GPU Hang|kfd.*(?:evict|hang).*fail|"
                r"unable to determine the device handle"
            ),
            trouble(
                r"(?:NVML|nvml).*(?:driver/library version mismatch|unknown error)|"
                r"rocm?-?smi.*(?:driver not (?:loaded|initialized))|"
                r"failed to (?:initialize|open) (?:NVML|/dev/(?:kfd|dri|nvidia))|"
                r"unable to open /dev/kfd|cuInit.*(?:999|unknown)|CUDA unknown error"
            ),
        ),
        0.85,
        "retry",
    ),
    Rule(
        "hardware_fault",
        _GROUP,
        "hardware",
        "environment",
        "take the device out of use and repeat on another one, where the same works",
        trouble(
            r"fault|launch failure|illegal|(?:CUDA|HIP) error|hang",
            also=r"(?:another|other|different|second) (?:device|gpu|node|host|machine|card)\b"
            r".{0,40}"
            r"(?:pass|works?\b|succe|fine|ok\b|complet)",
        ),
        0.6,
        "retry",
    ),
    Rule(
        "device_missing",
        _GROUP,
        "hardware",
        "environment",
        "no device is visible: check the driver, the container's devices and the visible-devices"
        " variables",
        trouble(
            r"no (?:CUDA|HIP|ROCm)[- ]?(?:capable )?(?:GPUs?|devices?)(?: is| are)? "
            r"(?:available|detected|found)|hipErrorNoDevice|cudaErrorNoDevice|"
            r"CUDA_ERROR_NO_DEVICE|invalid device ordinal|no GPUs? (?:found|available|detected)"
        ),
        0.8,
        "retry",
    ),
    Rule(
        "node_lost",
        _GROUP,
        "hardware",
        "environment",
        "the node went away: repeat on another one",
        trouble(
            r"NodeDiedError|node (?:has been|was) marked (?:as )?dead|lost (?:its )?connection to "
            r"(?:the )?node|node \S+ (?:died|is down|was preempted)|instance .*(?:preempted|"
            r"terminated)"
        ),
        0.8,
        "retry",
    ),
    Rule(
        "unsupported_arch",
        "unsupported_arch",
        "hardware",
        "implementation",
        "use a build for this processor or device, or another implementation of this operation",
        any_of(
            anywhere(
                r"trap invalid opcode|no kernel image is available|invalid device function|"
                r"hipErrorNoBinaryForGpu|cudaErrorNoKernelImageForDevice|TensileLibrary.*gfx|"
                r"HSA_STATUS_ERROR_INVALID_(?:ISA|CODE_OBJECT)"
            ),
            trouble(
                r"illegal instruction|unsupported (?:gpu|cuda|rocm|"
                r"target)?[ -]?arch(?:itecture)?\b|"
                r"(?:requires?|needs?|only supported (?:on|for)|supported on).{0,60}"
                r"(?:compute capability|\bsm_?\d\d|\bgfx\d|hopper|blackwell|ampere|avx|amx|CDNA)|"
                r"compute capability.{0,40}(?:not supported|too (?:low|old)|is required|at least)|"
                r"not supported (?:on|in|for|by) (?:this|the current) "
                r"(?:gpu|device|arch\w*|hardware|platform)|"
                r"not (?:compiled|built) (?:for|with).{0,30}(?:gfx|sm_?\d|arch)|"
                r"(?:gfx\d\w+|sm_?\d+\w?) (?:is|are) not supported|"
                r"fp8\w* not supported in this arch"
            ),
        ),
        0.85,
    ),
)
