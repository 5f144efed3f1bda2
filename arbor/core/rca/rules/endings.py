"""What is left to say when only the way in which the program ended is known."""

from arbor.core.rca.base import Find, Rule
from arbor.core.rca.finders import anywhere
from arbor.core.rca.record import Record
from arbor.events.causes import LogLine


def _ended_by(*numbers: int) -> Find:
    def find(record: Record) -> tuple[LogLine, ...]:
        if record.signal not in numbers:
            return ()
        return (LogLine(number=0, text=f"ended by signal {record.signal}"),)

    return find


def _ended_with(code: int) -> Find:
    def find(record: Record) -> tuple[LogLine, ...]:
        if record.exit_code != code:
            return ()
        return (LogLine(number=0, text=f"ended with exit code {code}"),)

    return find


RULES = (
    Rule(
        "stale_cache",
        "stale_cache",
        "compiler",
        "environment",
        "remove the compile caches: what they held could not be loaded and was compiled again",
        anywhere(
            r"(?:compil|build)\w* .{0,40}again due to a? ?(?:load|cache)|"
            r"(?:fail\w*|unable|could not) (?:to )?load\w* .{0,60}(?:compile|aot|inductor|"
            r"triton)\w*[_ ]?cache"
        ),
        0.5,
        "clear_caches",
    ),
    Rule(
        "unsupported_arch",
        "unsupported_arch",
        "hardware",
        "implementation",
        "the code was built for another processor: use a build for this one",
        _ended_by(4),
        0.7,
    ),
    Rule(
        "abort",
        "memory_fault",
        "",
        "implementation",
        "look at what the program printed before it gave up",
        _ended_by(6),
        0.4,
    ),
    Rule(
        "shm_full",
        "storage_full",
        "hardware",
        "environment",
        "a mapped file has no room behind it: look at /dev/shm and the disk",
        _ended_by(7),
        0.5,
        "end_leftovers",
    ),
    Rule(
        "arithmetic_fault",
        "implementation_error",
        "kernel",
        "implementation",
        "correct the native code: it divides by zero, or its figures overflow",
        _ended_by(8),
        0.6,
    ),
    Rule(
        "killed",
        "oom",
        "hardware",
        "environment",
        "check memory limits and who sent SIGKILL; try again",
        _ended_by(9),
        0.4,
        "retry",
    ),
    Rule(
        "memory_fault",
        "memory_fault",
        "kernel",
        "implementation",
        "use another implementation of this operation, or correct the native code",
        _ended_by(11),
        0.6,
    ),
    Rule(
        "terminated",
        "unknown",
        "",
        "environment",
        "somebody ended the program; try again",
        _ended_by(2, 15),
        0.6,
        "retry",
    ),
    Rule(
        "bad_flag",
        "bad_flag",
        "application",
        "implementation",
        "look at the arguments: the program refused them",
        _ended_with(2),
        0.3,
    ),
)
