"""Which processes live: each has a sign in the directory, a socket on which it listens.

The kernel refuses connections to it once the process has ended, however that ended.
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
# `unknown`: it may live where nothing can be seen of it.
Verdict = Literal["lives", "ended", "unknown"]
# What the kernel says of a socket. `refuses`: none listens; on other systems than Linux also, if
# more wait for that process than it has room for. `gone`: it is not there.
_Answer = Literal["accepts", "refuses", "gone", "unknown"]
_IS_LINUX = sys.platform == "linux"
# Bytes: what `sun_path` holds on every system, without the zero at its end.
_LONGEST_ADDRESS = 103
# Magic numbers of statfs(2): file systems that one kernel has to itself, and mounts once: ext4,
# XFS, Btrfs, F2FS, ZFS, bcachefs, overlay, tmpfs.
_LOCAL = (
    *(0xEF53, 0x58465342, 0x9123683E, 0xF2F52010),
    *(0x2FC12FC1, 0xCA451A4E, 0x794C7630, 0x01021994),
)


class Life:
    """Lets other processes that see a directory see that this one lives."""

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
        """Takes the sign away."""
        self._close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def renew(self) -> None:
        """A forked child must not make its parent seem alive."""
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
            # Only now can its mode be set. Until then the worst that another user can do is to
            # connect.
            os.chmod(path, OWNER_ONLY)
            # A file system may take a socket and not lead back to it: a refusal would prove
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
            # Wakes the thread that takes connections.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()


def _answer(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            # Out of descriptors it lives all the same, and the queue says so.
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ECONNABORTED):
                time.sleep(0.1)
                continue
            return
        connection.close()


def judge(seat: Mapping[str, Any], directory: str) -> Verdict:
    """What can be said of a process."""
    sign: str = seat["sign"]
    is_socket = sign.endswith(".sock")
    answer = (_knock if is_socket else _look)(directory, sign)
    if answer == "accepts":
        return "lives"
    # It removed it; or a person did that knows it to be gone; or this is a copy of its journal.
    if answer == "gone":
        return "ended"
    if not is_socket or not _is_of_one_kernel(seat, directory):
        return _may_run(seat)
    # A full queue is told from an ended process by Linux alone.
    if answer == "refuses" and not _IS_LINUX:
        return _may_run(seat)
    return "lives" if answer == "unknown" else "ended"


def clear(seat: Mapping[str, Any], directory: str) -> None:
    """Removes what a process that has ended left in a directory."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(directory, seat["sign"]))


def _knock(directory: str, name: str) -> _Answer:
    """Connects to a socket in a directory, once."""
    try:
        with socket.socket(socket.AF_UNIX) as one:
            # A full queue answers EAGAIN: its process lives.
            one.setblocking(False)
            _at_address(directory, name, one.connect)
        return "accepts"
    except ConnectionRefusedError:
        return "refuses"
    except FileNotFoundError:
        # The address may be missing although the socket is there: without /proc, a long path has
        # none.
        return _look(directory, name)
    except (OSError, AttributeError):
        return "unknown"


def _look(directory: str, name: str) -> _Answer:
    """Whether there is anything under a name in a directory."""
    return "unknown" if os.path.lexists(os.path.join(directory, name)) else "gone"


def _at_address(directory: str, name: str, work: Callable[[str], T]) -> T:
    """Works with an address of a socket that is short enough.

    Its path, or else one by way of its open directory, which Linux has.
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
    """Whether the kernel that is asked here is the one on which a process listens.

    Or has taken the disk over from it. Two ids of a kernel prove nothing on a file system that one
    kernel has to itself: some containers are given ids of their own.
    """
    kernel, volume = _kernel_of(_boot()), _volume_of(directory)
    if kernel is None or "kernel" not in seat or seat.get("volume") != volume:
        return False
    return bool(kernel == seat["kernel"]) or volume.startswith("local")


def _may_run(seat: Mapping[str, Any]) -> Verdict:
    """By its id, which means something only in its own namespace."""
    if seat["host"] != _host():
        return "unknown"
    pid: int = seat["pid"]
    try:
        # Windows would end it: there, only this process is known to live.
        if sys.platform != "win32":
            os.kill(pid, 0)
    except ProcessLookupError:
        return "ended"
    except (OSError, OverflowError):
        # It is there, and another user's.
        pass
    status = _status_of(pid)
    if status is None:
        return "lives"
    state, ticks = status
    is_same = "start" not in seat or seat["start"] == f"{_boot() or ''} {ticks}"
    return "lives" if state not in "ZX" and is_same else "ended"


def _status_of(pid: int) -> tuple[str, str] | None:
    """State, and start in clock ticks since this boot, as proc(5) has them; Linux alone tells."""
    text = _text_of(f"/proc/{pid}/stat")
    # The second field is the program's name in brackets, and may hold anything.
    fields = text[text.rfind(")") + 2 :].split(" ")
    return (fields[0], fields[19]) if len(fields) > 19 else None


def _boot() -> str | None:
    return _text_of("/proc/sys/kernel/random/boot_id").strip() or None


def _kernel_of(boot: str | None) -> str | None:
    """Containers share a kernel whatever their names are.

    Without an id of this boot, the kernel of a Linux is not known.
    """
    return boot if boot is not None or _IS_LINUX else socket.gethostname()


def _host() -> str:
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{socket.gethostname()} {space}".strip()


def _volume_of(directory: str) -> str:
    """Where a directory is.

    Two processes of one kernel that say the same find the same sockets in it: the kind of a local
    file system, or else the number of its device.
    """
    kind = _kind_of(directory) if _IS_LINUX else None
    return f"local {kind:x}" if kind in _LOCAL else str(os.stat(directory).st_dev)


def _kind_of(directory: str) -> int | None:
    """The first field of statfs(2), a word in every architecture of Linux but one."""
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
