"""Rewrites a file without finished records."""

from __future__ import annotations

import os
import time
from typing import Sequence

from ..._base.js import stringify
from ..._base.runtime import system_runtime
from ..._kernel.steps import sleep
from ..._kernel.task import Steps
from ..log.records import LogLine
from ..log.snapshot import lines_of, snapshot_of
from ..log.state import REWRITING
from .disk import OpenFile, create_file, remove_file
from .header import encode_header
from .history import History
from .line import encode_line
from .spent_names import spent_names_of
from .tail import Tail

# Rounds that copy newly written lines before the old file is sealed. The number is fixed: if lines
# come faster than they can be copied, each round would be longer than the round before.
_ROUNDS = 2
# How long lines are encoded before other work has its turn.
_TURN_SECONDS = 0.01


def write_anew(path: str, tail: Tail, me: str, history: History) -> Steps[OpenFile]:
    """Writes a new file without finished records, and gives it the path.

    Only one process at a time may call it. If it fails before the new file has the path, the old
    file stays as it is. Returns the new file. It has all that counts in the old file, which is
    sealed.
    """
    draft = f"{path}.compact"
    now = system_runtime.now()
    snapshot = snapshot_of(tail.state, now)
    closed = snapshot.content.closed
    past = {made.attempt["id"] for made in closed}
    tail.collect(True)

    def collected() -> list[LogLine]:
        """Returns the new lines, without the attempts of the history: their states are final."""
        return [
            LogLine(
                by, [new for new in records if "put" not in new or new["put"]["id"] not in past]
            )
            for by, records in tail.collected()
        ]

    file: OpenFile | None = None
    try:
        tail.read()
        if tail.state.locks.get(REWRITING) != me:
            raise _taken_over()
        places, length = yield from history.append(tail.state.history, closed, now)
        names = spent_names_of(closed, places)
        remove_file(draft)
        file = create_file(draft)
        writer = _Writer(file)
        yield from writer.write(lines_of(snapshot, names, length), is_urgent=False)
        lines, is_sealed, rounds = collected(), False, 1
        while True:
            yield from writer.write(lines, is_urgent=is_sealed)
            yield from file.sync()
            tail.read()
            lines = collected()
            if is_sealed and not lines:
                break
            if not is_sealed and (not lines or rounds >= _ROUNDS):
                if tail.state.locks.get(REWRITING) != me:
                    raise _taken_over()
                is_sealed = tail.append([{"sealed": True}])
                lines += collected()
                if is_sealed and not lines:
                    break
            rounds += 1
        if tail.state.sealed_by != me:
            raise _taken_over()
        os.replace(draft, path)
        return file
    except Exception:
        tail.collect(False)
        if file is not None:
            file.close()
        remove_file(draft)
        raise


def _taken_over() -> Exception:
    """Returns the error if another process took this process for ended: its sign is missing."""
    return RuntimeError("Another process may write the file anew by now.")


class _Writer:
    """Writes lines into a new file."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._end = len(encode_header())
        self._is_first = True

    def write(self, lines: Sequence[LogLine], *, is_urgent: bool) -> Steps[None]:
        """Writes lines. If ``is_urgent``, all processes wait for them, so it makes no pauses."""
        if not lines:
            return
        parts: list[bytes] = []
        since = time.monotonic()
        for by, records in lines:
            line = encode_line(self._end, stringify([by, *records]))
            self._end += len(line)
            parts.append(line)
            if not is_urgent and time.monotonic() - since >= _TURN_SECONDS:
                yield from sleep(0)
                since = time.monotonic()
        data = b"".join(parts)
        # The header holds the number of bytes that are on the disk before the file gets its name.
        if self._is_first:
            self._file.append(encode_header(len(data)))
        self._is_first = False
        self._file.append(data)
