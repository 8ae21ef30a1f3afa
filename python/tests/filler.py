"""A process that fills a journal file, which is often rewritten, until the process is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, Callable

from exact_change import file_journal
from exact_change._journal.file.shared import SharedLog, open_log
from exact_change._journal.log.journal import LogJournal
from exact_change._kernel.hosts import threads
from exact_change._kernel.task import Steps
from exact_change._policy.caps import Cap

from .holder import OWNER, attempt


def small_journal(path: str) -> LogJournal:
    """Returns a journal that rewrites its file from 20 kB on, and keeps 4 closed attempts."""

    def share() -> Steps[SharedLog]:
        log = yield from open_log(path, compact_from=20_000, recent=4)
        return SharedLog(log, log.close)

    return LogJournal(path, share)


def full(id_: str, state: str) -> Any:
    """Returns an attempt with each field that a journal reads, and padding of 800 bytes."""
    more = {} if state == "reserved" else {"payment": {"payerSignature": id_, "pad": "x" * 800}}
    return attempt(id_, state=state, delivered=True, idempotencyKey=id_, **more)


def fill(journal: LogJournal, prefix: str, times: int) -> None:
    """Writes attempts to their settlement, and prints the id of each settled attempt."""
    for at in range(times):
        id_ = f"{prefix}{at}"
        threads.run(journal.reserve(full(id_, "reserved"), []))
        for state in ("signed", "settled"):
            threads.run(journal.put(full(id_, state)))
        print(id_, flush=True)


def kill_at(count: int) -> None:
    """Kills this process before its ``count``-th write, sync or rename."""
    from exact_change._journal.file.disk import OpenFile

    places: list[tuple[Any, str]] = [(OpenFile, "append"), (OpenFile, "sync"), (os, "replace")]
    seen = 0

    def counted(inner: Callable[..., Any]) -> Callable[..., Any]:
        def count_and_call(*args: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == count:
                os.kill(os.getpid(), signal.SIGKILL)
            return inner(*args)

        return count_and_call

    for owner, name in places:
        setattr(owner, name, counted(getattr(owner, name)))


def contents_of(path: Path) -> dict[str, Any]:
    """Returns what Python reads in a file, in the form of the bridge to Node."""
    with file_journal(path) as journal:
        listed = threads.run(journal.shared.attempts(OWNER))
        (used,) = threads.run(journal.shared.used(OWNER, [Cap("all", "payments", 0)], 2**50))
    return {
        "attempts": [[attempt["id"], attempt["state"]] for attempt in listed],
        "used": str(used),
    }


def main(task: Any) -> None:
    """Fills a journal in a process of its own."""
    kill_at(task["at"])
    fill(small_journal(task["path"]), task["prefix"], task["times"])
