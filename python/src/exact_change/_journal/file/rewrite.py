"""Writes a file anew, without what is over, and gives it the path."""

from __future__ import annotations

import os
import time
from typing import Sequence

from ..._base.js import stringify
from ..._base.runtime import system_runtime
from ..._kernel.steps import sleep
from ..._kernel.task import Steps
from ..log.records import Said
from ..log.snapshot import lines_of, snapshot_of
from ..log.state import REWRITING
from .disk import OpenFile, create_file, remove_file
from .header import encode_header
from .history import History
from .line import encode_line
from .tail import Tail

# How often what came meanwhile is written behind, before nothing more may come: if that is written
# faster than it can be copied, each time would be longer than the one before.
_ROUNDS = 2
# How long lines are made before other work has its turn.
_TURN_SECONDS = 0.01


def write_anew(path: str, tail: Tail, me: str, history: History) -> Steps[OpenFile]:
    """To be done by one process at a time.

    What fails before the new file has the name leaves the old one as it is. Returns the new file,
    which has all that counts in the old one, and nothing more can.
    """
    draft = f"{path}.compact"
    now = system_runtime.now()
    snapshot = snapshot_of(tail.state, now)
    closed = snapshot.content.closed
    gone = {one.attempt["id"] for one in closed}
    tail.collect(True)

    def collected() -> list[Said]:
        """What came since, but for attempts that the history has: no more happens to them."""
        return [
            Said(by, [one for one in records if "put" not in one or one["put"]["id"] not in gone])
            for by, records in tail.collected()
        ]

    file: OpenFile | None = None
    try:
        places, length = yield from history.append(tail.state.history, closed, now)
        remove_file(draft)
        file = create_file(draft)
        writer = _Writer(file)
        yield from writer.write(lines_of(snapshot, places, length), is_urgent=False)
        rest, is_sealed, rounds = collected(), False, 1
        while True:
            yield from writer.write(rest, is_urgent=is_sealed)
            yield from file.sync()
            tail.read()
            rest = collected()
            if is_sealed and not rest:
                break
            if not is_sealed and (not rest or rounds >= _ROUNDS):
                if tail.state.locks.get(REWRITING) != me:
                    raise _taken_over()
                is_sealed = tail.append([{"sealed": True}])
                rest += collected()
                if is_sealed and not rest:
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
    """This process was taken for ended, as its sign was taken away."""
    return RuntimeError("Another process may write the file anew by now.")


class _Writer:
    """Writes lines into a new file, each after the one before."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._end = len(encode_header())
        self._is_first = True

    def write(self, lines: Sequence[Said], *, is_urgent: bool) -> Steps[None]:
        """``is_urgent``: all processes wait for it."""
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
        # It says how much was on the disk before the file got its name.
        if self._is_first:
            self._file.append(encode_header(len(data)))
        self._is_first = False
        self._file.append(data)
