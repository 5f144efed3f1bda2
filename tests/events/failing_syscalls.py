"""System calls that fail for real, in one thread, by a filter of the kernel."""

import ctypes
import platform
import struct

import pytest

_NUMBERS = {
    "x86_64": {"fsync": 74, "link": 86, "linkat": 265},
    "aarch64": {"fsync": 82, "linkat": 37},
}
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, _PR_SET_NO_NEW_PRIVS = 22, 2, 38
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD_NUMBER, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def fail_in_this_thread(syscall: str, errno: int) -> None:
    """Let a system call fail with an error until the calling thread ends."""
    number = _NUMBERS.get(platform.machine(), {}).get(syscall)
    if platform.system() != "Linux" or number is None:
        pytest.skip(f"no way to make {syscall} fail here")
    instructions = (
        struct.pack("HBBI", _LOAD_NUMBER, 0, 0, 0),
        struct.pack("HBBI", _JUMP_IF_EQUAL, 0, 1, number),
        struct.pack("HBBI", _RETURN, 0, 0, _ERRNO | errno),
        struct.pack("HBBI", _RETURN, 0, 0, _ALLOW),
    )
    program = _Program(len(instructions), b"".join(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program)
    ):
        pytest.skip("the kernel allows no filters of system calls")
