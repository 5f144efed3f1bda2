"""Gives rights up and becomes a program: ``python -I -S jail.py ORDER -- ARGV...``.

With the standard library only, before anything of the program's own can run. ``ORDER`` is the JSON
of ``order.JailOrder``. With namespaces the whole file system is read-only but for the folders of
the order, secrets are hidden, there is no network or a loopback of its own, and the program sees
its own processes alone, which all end when it does. Plainly, there are limits and nothing else.
"""

import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import Any, NoReturn

EXIT_NO_JAIL = 125
"""The rights could not be given up, so the program was not started."""
_EXIT_NOT_FOUND = 127
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUTS = 0x04000000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
# the same number on every architecture
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_CAPABILITY_VERSION = 0x20080522
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - what is mounted over, not a temporary file
_LIBC = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    encoded = None if kind is None else kind.encode()
    done = _LIBC.mount(
        source.encode(), target.encode(), encoded, ctypes.c_ulong(flags), data.encode()
    )
    _checked(done, f"mount {target}")


def _set_attributes(path: str, *, add: int, clear: int, is_deep: bool) -> None:
    attributes = struct.pack("QQQQ", add, clear, 0, 0)
    flags = _AT_RECURSIVE if is_deep else 0
    done = _LIBC.syscall(
        _SYS_MOUNT_SETATTR, _AT_FDCWD, path.encode(), flags, attributes, len(attributes)
    )
    _checked(done, f"mount_setattr {path}")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - Path would cost an import
        file.write(text)


def _separate(order: dict[str, Any]) -> None:
    """Enter new namespaces, in which this process may rearrange its own view alone."""
    user, group = os.getuid(), os.getgid()
    flags = _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWUTS
    flags |= _CLONE_NEWPID if order["has_own_processes"] else 0
    flags |= 0 if order["network"] == "host" else _CLONE_NEWNET
    _checked(_LIBC.unshare(flags), "unshare")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    if order["network"] == "loopback":
        _raise_loopback()


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))


def _arrange_files(order: dict[str, Any]) -> None:
    """Make everything read-only but the order's folders, and hide what it names."""
    writable = [os.path.realpath(path) for path in order["writable"]]
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    for path in writable:
        _mount(path, path, None, _MS_BIND | _MS_REC)
    _set_attributes("/", add=_MS_RDONLY | _MS_NOSUID, clear=0, is_deep=True)
    for path in writable:
        _set_attributes(path, add=0, clear=_MS_RDONLY, is_deep=False)
    for path in order["hidden"]:
        if os.path.isdir(path):  # noqa: PTH112 - Path would cost an import
            _mount("tmpfs", path, "tmpfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV, "size=4k")
        elif os.path.exists(path):  # noqa: PTH110 - Path would cost an import
            _mount("/dev/null", path, None, _MS_BIND)
    if os.path.isdir(_SHARED_MEMORY):  # noqa: PTH112 - Path would cost an import
        size = f"size={order['limits']['disk_bytes']}"
        _mount("tmpfs", _SHARED_MEMORY, "tmpfs", _MS_NOSUID | _MS_NODEV, size)


def _show_own_processes() -> None:
    """Mount a new /proc; where a container forbids it, others' secrets are closed all the same.

    A process of another user namespace may not read the environment or memory of one outside.
    """
    flags = _MS_RDONLY | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    with suppress(OSError):
        _mount("proc", "/proc", "proc", flags)


def _drop_capabilities() -> None:
    number = 0
    while _LIBC.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    _LIBC.capset(header, struct.pack("6I", 0, 0, 0, 0, 0, 0))


def _limit(limits: dict[str, Any]) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits["cpu_s"],
        resource.RLIMIT_AS: limits["memory_bytes"],
        resource.RLIMIT_FSIZE: limits["disk_bytes"],
        resource.RLIMIT_NOFILE: limits["num_files"],
    }
    for kind, value in wanted.items():
        if value is None:
            continue
        _, hard = resource.getrlimit(kind)
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # at its soft limit of time a program gets a signal of its own, at the hard one it ends
        slack = 1 if kind == resource.RLIMIT_CPU and allowed != hard else 0
        resource.setrlimit(kind, (allowed, allowed + slack))


def _code_of(status: int) -> int:
    """Return an exit code as shells give it: 128 and the signal's number."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _end_with(child: int) -> NoReturn:
    """Reap until one child ends, and end like it."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            os._exit(_code_of(status))


def _become_last_of_three() -> None:
    """Fork twice: a first process of the new namespace is deaf to signals, so it only reaps."""
    child = os.fork()
    if child:
        _drop_capabilities()
        _end_with(child)
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _show_own_processes()
    child = os.fork()
    if child:
        _drop_capabilities()
        _end_with(child)


def _give_up_rights(order: dict[str, Any]) -> None:
    # what the worker had open is not for the program
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    if order["isolation"] == "namespaces":
        _separate(order)
        _arrange_files(order)
        if order["has_own_processes"]:
            _become_last_of_three()
    # a guard that dies takes the program with it; what was set before is lost with the rights
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.chdir(order["folder"])
    _limit(order["limits"])
    _drop_capabilities()


def main() -> int:
    """Give up rights and become the program of the command line."""
    order, argv = json.loads(sys.argv[1]), sys.argv[3:]
    try:
        _give_up_rights(order)
    except (OSError, ValueError) as error:
        os.write(2, f"jail: {error}\n".encode())
        return EXIT_NO_JAIL
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - there is no shell by intention
    except OSError as error:
        os.write(2, f"cannot run {argv[0]}: {os.strerror(error.errno or 0)}\n".encode())
    return _EXIT_NOT_FOUND


if __name__ == "__main__":
    os._exit(main())
