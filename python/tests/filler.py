"""A process that fills a journal in a file that is soon written anew, until it is killed."""

from __future__ import annotations

import os
import signal
from typing import Any, Callable

from exact_change._journal.file.failures import closed, unavailable
from exact_change._journal.file.open_log import open_log
from exact_change._journal.log.journal import LogJournal
from exact_change._journal.log.port import Share
from exact_change._kernel.hosts import threads
from exact_change._kernel.task import Steps

from .holder import attempt


def small_journal(path: str) -> LogJournal:
    """A journal whose file is written anew from 20 kB on, and keeps 4 of those that are over."""

    def share() -> Steps[Share]:
        log = yield from open_log(path, compact_from=20_000, recent=4)
        return Share(log, log.close)

    return LogJournal(share, closed, lambda error: unavailable(path, error))


def full(id_: str, state: str) -> Any:
    """An attempt with all that a journal looks at, and bytes to make it large."""
    more = {} if state == "reserved" else {"payment": {"payerSignature": id_, "pad": "x" * 800}}
    return attempt(id_, state=state, delivered=True, idempotencyKey=id_, **more)


def fill(journal: LogJournal, prefix: str, times: int) -> None:
    """Makes attempts that settle, and says each that did."""
    for at in range(times):
        id_ = f"{prefix}{at}"
        threads.run(journal.reserve(full(id_, "reserved"), []))
        for state in ("signed", "settled"):
            threads.run(journal.put(full(id_, state)))
        print(id_, flush=True)


def kill_at(count: int) -> None:
    """Has this process killed before it writes, syncs or renames so often."""
    from exact_change._journal.file.disk import OpenFile

    places: list[tuple[Any, str]] = [(OpenFile, "append"), (OpenFile, "sync"), (os, "replace")]
    seen = 0

    def counted(inner: Callable[..., Any]) -> Callable[..., Any]:
        def count_and_call(*given: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == count:
                os.kill(os.getpid(), signal.SIGKILL)
            return inner(*given)

        return count_and_call

    for owner, name in places:
        setattr(owner, name, counted(getattr(owner, name)))


def main(told: Any) -> None:
    """Fills a journal, as a process of its own."""
    kill_at(told["at"])
    fill(small_journal(told["path"]), told["prefix"], told["times"])
