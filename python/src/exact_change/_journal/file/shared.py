"""The logs of files that journals of this process share: one for each file."""

from __future__ import annotations

import os

from ..._kernel.fork import in_child
from ..._kernel.hosts import threads
from ..._kernel.steps import join, settled
from ..._kernel.task import Steps, Task, begin
from ..log.port import Share
from .log import FileLog
from .open_log import open_log


class _Entry:
    def __init__(self, log: Task[FileLog]) -> None:
        self.log = log
        self.users = 0
        # Set once the last user has left: the log can be opened again after it.
        self.closing: Task[None] | None = None


class _Logs:
    def __init__(self) -> None:
        self.entries: dict[str, _Entry] = {}
        in_child(self)

    def renew(self) -> None:
        """A child shares nothing with its parent but the files."""
        self.entries = {}


_logs = _Logs()


def share_log(path: str) -> Steps[Share]:
    """The log of a file for this process: one, by whatever path it is asked for.

    The last to leave closes the file.
    """
    real = os.path.realpath(path)
    # Of a directory that is not there, the error names the path as it was given.
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
    own = entry
    try:
        log = yield from join(own.log)
    except Exception:
        # What kept it from opening may pass.
        if entries.get(real) is own:
            del entries[real]
        raise

    def close() -> Steps[None]:
        try:
            yield from log.close()
        finally:
            if entries.get(real) is own:
                del entries[real]

    def leave() -> Steps[None]:
        own.users -= 1
        if own.users == 0:
            own.closing = begin(threads, close())
            yield from join(own.closing)

    return Share(log, leave)
