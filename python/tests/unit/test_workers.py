"""Threads of the library in a process that has as many threads as it may."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Callable

import pytest

from exact_change._kernel.workers import Workers


class Dead:
    """Something that is forgotten."""


def clock(workers: Workers) -> Callable[[], object]:
    """Has a job submitted by the thread that keeps time."""
    ran = threading.Event()
    workers.later(0, ran.set)
    return lambda: ran.wait(20)


def graves(workers: Workers) -> Callable[[], object]:
    """Has a job submitted by the thread that learns what is forgotten."""
    ran, dead = threading.Event(), Dead()
    workers.watch_graves()
    weakref.finalize(dead, workers.bury, ran.set)
    del dead
    return lambda: ran.wait(20)


@pytest.mark.parametrize("ask", [clock, graves])
def test_what_hands_out_jobs_outlives_that_no_thread_starts(
    ask: Callable[[Workers], Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start
    refused = 0

    def refuse(self: threading.Thread, *given: Any) -> None:
        nonlocal refused
        if threading.current_thread().name in ("exact-change timers", "exact-change graves"):
            refused += 1
            if refused <= 2:
                raise RuntimeError("can't start new thread")
        start(self, *given)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    workers = Workers()
    for _ in range(2):
        assert ask(workers)()
    assert refused > 2
