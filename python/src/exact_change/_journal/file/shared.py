"""Opens the logs that journals of this process share, one for each file."""

from __future__ import annotations

import os
from typing import Callable, NamedTuple

from ..._kernel.fork import in_child
from ..._kernel.hosts import threads
from ..._kernel.steps import call, join, settled
from ..._kernel.task import Steps, Task, begin
from ..store_types import Archive
from .history import History
from .log import FileLog
from .only_path import open_journal_file
from .signs import Life
from .tail import ThisProcess, tail_of

# Bytes from which on a file may be worth a rewrite.
_COMPACT_FROM = 4 * 1024 * 1024
# How many of the last closed attempts stay in a rewritten file.
_RECENT = 256


class SharedLog(NamedTuple):
    """A share of a log. ``leave`` gives up the share; the last user closes the log."""

    log: FileLog
    leave: Callable[[], Steps[None]]


class _Entry:
    def __init__(self, log: Task[FileLog]) -> None:
        self.log = log
        self.users = 0
        # Set once the last user has left. The log can be opened again once the task ends.
        self.closing: Task[None] | None = None


class _Logs:
    def __init__(self) -> None:
        self.entries: dict[str, _Entry] = {}
        in_child(self)

    def renew(self) -> None:
        """Forgets the logs in a forked child, which shares only the files with its parent."""
        self.entries = {}


_logs = _Logs()


def share_log(path: str) -> Steps[SharedLog]:
    """Returns a share of the log of a file.

    This process has one log for a file, also if callers use different paths. The last user that
    leaves closes the file.
    """
    real = os.path.realpath(path)
    # Fail now if the directory does not exist: then the error names the path as it was given.
    os.stat(os.path.dirname(real))
    entries = _logs.entries
    while True:
        entry = entries.get(real)
        if entry is None or entry.closing is None:
            break
        yield from settled(entry.closing)
    if entry is None:
        entry = entries[real] = _Entry(begin(threads, open_log(real)))
    entry.users += 1
    shared = entry
    try:
        log = yield from join(shared.log)
    except Exception:
        # Forget the entry, so that the next call tries to open the file again.
        if entries.get(real) is shared:
            del entries[real]
        raise

    def close() -> Steps[None]:
        try:
            yield from log.close()
        finally:
            if entries.get(real) is shared:
                del entries[real]

    def leave() -> Steps[None]:
        shared.users -= 1
        if shared.users == 0:
            shared.closing = begin(threads, close())
            yield from join(shared.closing)

    return SharedLog(log, leave)


def open_log(
    path: str, *, compact_from: int = _COMPACT_FROM, recent: int = _RECENT
) -> Steps[FileLog]:
    """Opens the journal at a path, or makes it.

    Raises ``journal_locked`` if an invisible process may use the file, and ``invalid_option`` for
    the file of another version. Also raises ``journal_damaged``, or a disk error.
    """
    directory = os.path.dirname(path)
    life = yield from call(lambda: Life(directory))
    history = History(f"{path}.history")
    try:
        file = yield from open_journal_file(path, life.id)
        archive = Archive(history.recall, recent)
        tail = yield from tail_of(path, file, ThisProcess(life.id, life.seat), archive)
    except BaseException:
        life.end()
        raise
    log = FileLog(path, life, history, tail, compact_from)
    try:
        yield from log.sit_down()
        return log
    except Exception:
        yield from log.close()
        raise
