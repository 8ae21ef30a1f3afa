"""Turns: code of the library that shares state runs one turn at a time, in the whole process."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import Callable

from .fork import after_fork


class _Here(threading.local):
    # What is still to run in this thread's turn; none outside of one.
    queue: deque[Callable[[], None]] | None = None


class _Turns:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.here = _Here()


_turns = _Turns()
# A thread that held it is not there in a child.
after_fork(_turns.__init__)  # type: ignore[misc]


def _before_fork() -> None:
    """Waits for the turn of another thread: a child must not remember half of one."""
    if _turns.here.queue is None:
        _turns.lock.acquire()


def _after_fork_in_parent() -> None:
    if _turns.here.queue is None:
        _turns.lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent)


def run_turn(work: Callable[[], None]) -> None:
    """Runs work, and all that it queues on this thread, while no other turn runs."""
    here = _turns.here
    if here.queue is not None:
        here.queue.append(work)
        return
    with _turns.lock:
        here.queue = deque((work,))
        try:
            while here.queue:
                here.queue.popleft()()
        finally:
            here.queue = None
