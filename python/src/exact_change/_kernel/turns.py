"""Turns: code of the library that shares state runs one turn at a time, in the whole process."""

from __future__ import annotations

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
