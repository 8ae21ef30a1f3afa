"""Opens the log in a file that processes share."""

from __future__ import annotations

import os

from ..._kernel.steps import call
from ..._kernel.task import Steps
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
