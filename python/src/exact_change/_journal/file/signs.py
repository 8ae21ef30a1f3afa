"""Signs by which processes see which processes live.

Each process has a sign in the directory: a socket on which it listens. Once the process has ended,
the kernel refuses connections to the socket.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import sys
import threading
import time
from typing import Any, Callable, Mapping, TypeVar

from typing_extensions import Literal

from ..._kernel.fork import in_child
from .disk import OWNER_ONLY

T = TypeVar("T")
# `unknown`: the process may live on another machine or in another container.
Verdict = Literal["lives", "ended", "unknown"]
# The kernel's answer for a socket. `accepts`: a process listens. `refuses`: no process listens; on
# other systems than Linux, the process may also have a full queue. `gone`: there is no socket.
# `unknown`: nothing is certain.
_Answer = Literal["accepts", "refuses", "gone", "unknown"]
_IS_LINUX = sys.platform == "linux"
# Bytes that `sun_path` holds on every system, without the zero at its end.
_LONGEST_ADDRESS = 103
# Magic numbers of statfs(2) of local file systems: a single kernel uses them, and mounts once.
# ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, overlay, tmpfs.
_LOCAL = (
    *(0xEF53, 0x58465342, 0x9123683E, 0xF2F52010),
    *(0x2FC12FC1, 0xCA451A4E, 0x794C7630, 0x01021994),
)


class Life:
    """The sign of this process in a directory, by which other processes see that it lives."""

    def __init__(self, directory: str) -> None:
        id_ = os.urandom(16).hex()
        boot, status = _boot(), _status_of(os.getpid())
        kernel = _kernel_of(boot)
        self._listener: socket.socket | None = None
        in_child(self)
        is_heard = kernel is not None and self._listen(directory, f".{id_}.sock")
        sign = f".{id_}.sock" if is_heard else f".{id_}.seat"
        self._path = os.path.join(directory, sign)
        if not is_heard:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
        self.id = id_
        self.seat: Mapping[str, Any] = {
            "id": id_,
            "pid": os.getpid(),
            **({} if status is None else {"start": f"{boot or ''} {status[1]}"}),
            "host": _host(),
            **({} if kernel is None else {"kernel": kernel}),
            "volume": _volume_of(directory),
            "sign": sign,
        }

    def end(self) -> None:
        """Removes the sign."""
        self._close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def renew(self) -> None:
        """Stops listening in a forked child, which must not make its parent seem alive."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _listen(self, directory: str, name: str) -> bool:
        path = os.path.join(directory, name)
        try:
            self._listener = listener = socket.socket(socket.AF_UNIX)
            _at_address(directory, name, listener.bind)
            listener.listen(128)
            threading.Thread(
                target=_answer, args=(listener,), name="exact-change sign", daemon=True
            ).start()
            # The mode can be set only now. Until then, another user can connect, and no more.
            os.chmod(path, OWNER_ONLY)
            # On some file systems the socket cannot be reached by its path: a refusal would prove
            # nothing.
            if _knock(directory, name) == "accepts":
                return True
        except (OSError, AttributeError):
            pass
        self._close()
        with contextlib.suppress(OSError):
            os.unlink(path)
        return False

    def _close(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            # Wake the thread that accepts connections.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()


def _answer(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            # Without free descriptors the process still lives: connections wait in the queue.
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ECONNABORTED):
                time.sleep(0.1)
                continue
            return
        connection.close()


def judge(seat: Mapping[str, Any], directory: str) -> Verdict:
    """Judges whether a process lives."""
    sign: str = seat["sign"]
    is_socket = sign.endswith(".sock")
    answer = (_knock if is_socket else _look)(directory, sign)
    if answer == "accepts":
        return "lives"
    # The process removed its sign; or a person did, because the process has ended; or this is a
    # copy of its journal.
    if answer == "gone":
        return "ended"
    if not is_socket or not _is_of_one_kernel(seat, directory):
        return _may_run(seat)
    # Only on Linux does a refusal prove an end: elsewhere, a full queue refuses as well.
    if answer == "refuses" and _IS_LINUX:
        return "ended"
    verdict = _may_run(seat)
    # This user may not connect to a socket of another user, which stays if its process is killed.
    return "lives" if answer == verdict == "unknown" else verdict


def clear(seat: Mapping[str, Any], directory: str) -> None:
    """Removes the sign of a process that has ended."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(directory, seat["sign"]))


def _knock(directory: str, name: str) -> _Answer:
    """Connects to a socket in a directory, once."""
    try:
        with socket.socket(socket.AF_UNIX) as client:
            # With a full queue, this gets EAGAIN, not a refusal: the process lives.
            client.setblocking(False)
            _at_address(directory, name, client.connect)
        return "accepts"
    except ConnectionRefusedError:
        return "refuses"
    except FileNotFoundError:
        # Without /proc a long path has no address, so this error does not prove that the socket is
        # gone.
        return _look(directory, name)
    except (OSError, AttributeError):
        return "unknown"


def _look(directory: str, name: str) -> _Answer:
    """Returns `gone` if a directory has no file of a name, else `unknown`."""
    return "unknown" if os.path.lexists(os.path.join(directory, name)) else "gone"


def _at_address(directory: str, name: str, work: Callable[[str], T]) -> T:
    """Calls ``work`` with an address of the socket that is short enough.

    That is its path, or on Linux an address through the open directory.
    """
    path = os.path.join(directory, name)
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        return work(path)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        return work(f"/proc/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)


def _is_of_one_kernel(seat: Mapping[str, Any], directory: str) -> bool:
    """Returns whether this kernel is the kernel of a process, or has taken over its disk.

    On a local file system, different kernel ids prove nothing: some containers have kernel ids of
    their own.
    """
    kernel, volume = _kernel_of(_boot()), _volume_of(directory)
    if kernel is None or "kernel" not in seat or seat.get("volume") != volume:
        return False
    return bool(kernel == seat["kernel"]) or volume.startswith("local")


def _may_run(seat: Mapping[str, Any]) -> Verdict:
    """Judges a process by its pid, which means something only in its own namespace."""
    if seat["host"] != _host():
        return "unknown"
    pid: int = seat["pid"]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "ended"
    except (OSError, OverflowError):
        # The process exists, and belongs to another user.
        pass
    status = _status_of(pid)
    if status is None:
        return "lives"
    state, ticks = status
    is_same = "start" not in seat or _is_start(seat["start"], ticks)
    return "lives" if state not in "ZX" and is_same else "ended"


def _status_of(pid: int) -> tuple[str, str] | None:
    """Returns the state of a process and its start in clock ticks since this boot, as in proc(5).

    None on other systems than Linux.
    """
    text = _text_of(f"/proc/{pid}/stat")
    # The second field is the program's name in parentheses, and may hold any character.
    fields = text[text.rfind(")") + 2 :].split(" ")
    return (fields[0], fields[19]) if len(fields) > 19 else None


def _is_start(start: str, ticks: str) -> bool:
    """Returns whether a process began at a start: at its ticks, and in this boot.

    A process that is out of file descriptors cannot read its boot, which then proves nothing.
    """
    boot, _, at = start.rpartition(" ")
    return at == ticks and boot in ("", _boot() or boot)


def _boot() -> str | None:
    return _text_of("/proc/sys/kernel/random/boot_id").strip() or None


def _kernel_of(boot: str | None) -> str | None:
    """Returns the id of this kernel: the boot id, because containers share a kernel.

    None on Linux without a boot id.
    """
    return boot if boot is not None or _IS_LINUX else socket.gethostname()


def _host() -> str:
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{socket.gethostname()} {space}".strip()


def _volume_of(directory: str) -> str:
    """Returns the volume of a directory: the kind of a local file system, or its device number.

    Two processes of one kernel with the same volume reach the same sockets in the directory.
    """
    kind = _kind_of(directory) if _IS_LINUX else None
    return f"local {kind:x}" if kind in _LOCAL else str(os.stat(directory).st_dev)


def _kind_of(directory: str) -> int | None:
    """Returns the first field of statfs(2), a word in every architecture of Linux but one."""
    try:
        statfs = ctypes.CDLL(None, use_errno=True).statfs
        found = (ctypes.c_long * 64)()
        if statfs(os.fsencode(directory), ctypes.byref(found)) == 0:
            return found[0] & 0xFFFFFFFF
    except (OSError, AttributeError):
        pass
    return None


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
