"""Threads of the library in a process that has reached its limit of threads."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Callable

import pytest

from exact_change._kernel.workers import Workers


class Collected:
    """An object that the test leaves to the garbage collector."""


def timer(workers: Workers) -> Callable[[], object]:
    """Submits a job from the timer thread; returns a function that waits for it."""
    ran = threading.Event()
    workers.later(0, ran.set)
    return lambda: ran.wait(60)


def finalizer(workers: Workers) -> Callable[[], object]:
    """Submits a job from the finalizer thread; returns a function that waits for it."""
    ran, collected = threading.Event(), Collected()
    workers.watch_graves()
    weakref.finalize(collected, workers.bury, ran.set)
    del collected
    return lambda: ran.wait(60)


@pytest.mark.parametrize("submit", [timer, finalizer])
def test_runs_every_job_when_no_thread_starts_at_first(
    submit: Callable[[Workers], Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start
    refused = 0

    def refuse(self: threading.Thread, *args: Any) -> None:
        nonlocal refused
        if threading.current_thread().name in ("exact-change timers", "exact-change graves"):
            refused += 1
            if refused <= 2:
                raise RuntimeError("can't start new thread")
        start(self, *args)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    workers = Workers()
    for _ in range(2):
        assert submit(workers)()
    assert refused > 2


def test_runs_finalizers_once_their_thread_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    start, refused = threading.Thread.start, [True]

    def refuse(self: threading.Thread, *args: Any) -> None:
        if refused:
            refused.pop()
            raise RuntimeError("can't start new thread")
        start(self, *args)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    workers = Workers()
    workers.watch_graves()
    assert finalizer(workers)()


@pytest.mark.parametrize("seconds", [float("inf"), 1e300, 1e10])
def test_runs_later_jobs_when_a_job_waits_longer_than_the_system_can(seconds: float) -> None:
    workers = Workers()
    workers.later(seconds, lambda: None)
    ran = threading.Event()
    workers.later(0.05, ran.set)
    assert ran.wait(60)
