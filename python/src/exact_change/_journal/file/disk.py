"""The file system calls of the journal. Calls that take microseconds run at once, in a turn."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import NamedTuple

from ..._kernel.fork import in_child
from ..._kernel.steps import call
from ..._kernel.task import Steps

OWNER_ONLY = 0o600
_APPEND = os.O_RDWR | os.O_APPEND


class FileId(NamedTuple):
    """Identifies a file by its inode, whatever its names are."""

    device: int
    inode: int


class OpenFile:
    """An open file. All calls but :meth:`sync` run at once, without an effect."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        in_child(self)

    @property
    def id(self) -> FileId:
        return _id_of(os.fstat(self._descriptor))

    @property
    def names(self) -> int:
        """The number of names (hard links) of the file."""
        return os.fstat(self._descriptor).st_nlink

    def make_private(self) -> None:
        """Makes the file private to its owner: a release or a copy may have left it readable."""
        if os.fstat(self._descriptor).st_mode & 0o777 != OWNER_ONLY:
            os.fchmod(self._descriptor, OWNER_ONLY)

    @property
    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read(self, length: int, position: int) -> bytes:
        """Reads up to ``length`` bytes from a position on."""
        parts: list[bytes] = []
        os.lseek(self._descriptor, position, os.SEEK_SET)
        while length > 0:
            part = os.read(self._descriptor, length)
            if not part:
                break
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def append(self, data: bytes) -> None:
        """Writes at the current end as one piece: no write of another process can split it.

        Raises ``ENOSPC`` if the disk took only a part of the data.
        """
        if os.write(self._descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, "There is no room for it")

    def truncate(self, length: int) -> None:
        """Cuts the file off after ``length`` bytes."""
        os.ftruncate(self._descriptor, length)

    def sync(self) -> Steps[None]:
        """Returns once all written bytes are on the disk itself."""
        yield from call(lambda: _sync(self._descriptor))

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor != -1:
            os.close(descriptor)

    def renew(self) -> None:
        """Closes the file in a forked child, which opens its own."""
        with contextlib.suppress(OSError):
            self.close()


def open_file(path: str) -> OpenFile:
    """Opens a file. Raises ``FileNotFoundError``."""
    return OpenFile(os.open(path, _APPEND))


def create_file(path: str) -> OpenFile:
    """Makes a new file, private to its owner. Raises ``FileExistsError`` if the path is taken."""
    descriptor = os.open(path, _APPEND | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    # Root gives the file to the owner of the journal that it is named after. Otherwise a single
    # program of root, which writes the journal anew, would lock out that owner.
    if os.geteuid() == 0:
        # The journal may be new, or the file system may know no owners.
        with contextlib.suppress(OSError):
            owner = os.stat(path.rpartition(".")[0])
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return OpenFile(descriptor)


def identify(path: str) -> FileId:
    return _id_of(os.stat(path))


def remove_file(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def sync_directory(path: str) -> Steps[None]:
    """Returns once the names in a directory are on the disk itself."""
    yield from call(lambda: _sync_directory(path))


def _sync_directory(path: str) -> None:
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _sync(descriptor: int) -> None:
    if sys.platform == "linux":
        os.fdatasync(descriptor)
        return
    if sys.platform == "darwin":
        import fcntl

        # On macOS, fsync(2) only hands the bytes to the drive; some network volumes take no more.
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def _id_of(stats: os.stat_result) -> FileId:
    return FileId(stats.st_dev, stats.st_ino)
