"""Opens a file that processes share."""

from __future__ import annotations

import os

from ..._kernel.steps import call
from ..._kernel.task import Steps
from ..store_types import Archive
from .history import History
from .log import FileLog
from .only_path import open_journal_file
from .signs import Life
from .tail import Me, tail_of

# From how many bytes on a file may be worth writing anew.
_COMPACT_FROM = 4 * 1024 * 1024
# So many attempts stay in it then, of those that were closed last.
_RECENT = 256


def open_log(
    path: str, *, compact_from: int = _COMPACT_FROM, recent: int = _RECENT
) -> Steps[FileLog]:
    """Opens, or makes, the journal at a path.

    Raises ``journal_locked`` if a process may have it that nothing can be seen of,
    ``journal_damaged``, ``invalid_option`` for the file of another version, or as the disk does.
    """
    directory = os.path.dirname(path)
    life = yield from call(lambda: Life(directory))
    history = History(f"{path}.history")
    try:
        file = yield from open_journal_file(path, life.id)
        archive = Archive(history.recall, recent)
        tail = yield from tail_of(path, file, Me(life.id, life.seat), archive)
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
