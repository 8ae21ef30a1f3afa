"""Threads for blocking jobs, and a timer thread. None of them keeps a process alive."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from queue import Empty, SimpleQueue
from typing import Callable

from .fork import after_fork
from .turns import leave, run_turn

Job = Callable[[], None]

IDLE_SECONDS = 10.0
_FULL_SECONDS = 0.05


class _Here(threading.local):
    is_worker = False


class Workers:
    """Hands out jobs to threads, so that a job that blocks does not delay the other jobs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Job]] = []
        self._here = _Here()
        self._timers: _Timers | None = None
        # A queue without a lock: its `put` may run inside a `put` of the same thread.
        self._buried: SimpleQueue[None] = SimpleQueue()
        self._buries = False

    @property
    def is_here(self) -> bool:
        return self._here.is_worker

    def submit(self, job: Job) -> None:
        """Runs a job in an idle thread, or in a new thread."""
        # Without a lock: garbage collection may come in here, and close a reader that submits too.
        try:
            self._idle.pop().put(job)
            return
        except IndexError:
            own: SimpleQueue[Job] = SimpleQueue()
        own.put(job)
        threading.Thread(target=self._work, args=(own,), name="exact-change", daemon=True).start()

    def later(self, seconds: float, job: Job) -> Job:
        """Submits a job after a delay; returns a function that cancels this."""
        with self._lock:
            if self._timers is None:
                self._timers = _Timers(self._submit_in_the_end)
            timers = self._timers
        return timers.add(seconds, job)

    def watch_graves(self) -> None:
        """Starts the thread that runs buried jobs. Call it before :meth:`bury`."""
        if self._buries:
            return
        with self._lock:
            is_first, self._buries = not self._buries, True
        if is_first:
            try:
                threading.Thread(target=self._dig, name="exact-change graves", daemon=True).start()
            except RuntimeError:
                # The process may start no more threads. A later call tries again.
                self._buries = False

    def bury(self, job: Job) -> None:
        """Runs a job in a turn: soon, and before any turn that begins after this call.

        A finalizer may call it, whatever lock its thread holds.
        """
        leave(job)
        self._buried.put(None)

    def _dig(self) -> None:
        while True:
            self._buried.get()
            # Each turn begins with what was buried.
            self._submit_in_the_end(lambda: run_turn(nothing))

    def _submit_in_the_end(self, job: Job) -> None:
        """Submits a job, and retries while the process may start no more threads.

        An error here would end the timer thread, and the process would have no clock.
        """
        while True:
            try:
                return self.submit(job)
            except RuntimeError:
                time.sleep(_FULL_SECONDS)

    def _work(self, jobs: SimpleQueue[Job]) -> None:
        self._here.is_worker = True
        while True:
            try:
                job = jobs.get(timeout=IDLE_SECONDS)
            except Empty:
                try:
                    self._idle.remove(jobs)
                    return
                except ValueError:
                    # `submit` has just taken this queue, so its job is about to come.
                    job = jobs.get()
            job()
            # An idle thread must keep no reference: a finalizer may wait until the answer is freed.
            del job
            self._idle.append(jobs)


def nothing() -> None:
    """Does nothing."""


class _Timers:
    def __init__(self, submit: Callable[[Job], None]) -> None:
        self._submit = submit
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, list[Job]]] = []
        self._count = itertools.count()
        threading.Thread(target=self._run, name="exact-change timers", daemon=True).start()

    def add(self, seconds: float, job: Job) -> Job:
        entry = [job]
        at = time.monotonic() + max(0.0, seconds)
        with self._changed:
            heapq.heappush(self._heap, (at, next(self._count), entry))
            if self._heap[0][2] is entry:
                self._changed.notify()
        return entry.clear

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._heap and not self._heap[0][2]:
                    heapq.heappop(self._heap)
                if not self._heap:
                    self._changed.wait()
                    continue
                left = self._heap[0][0] - time.monotonic()
                if left > 0:
                    # A longer wait would raise, and end this thread.
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                    continue
                entry = heapq.heappop(self._heap)[2]
            # The list is empty if the job was cancelled a moment ago.
            for job in entry[:1]:
                self._submit(job)
                del job


workers = Workers()
after_fork(workers.__init__)  # type: ignore[misc]
