"""Turns: code of the library that shares state runs one turn at a time, in the whole process."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections import deque
from typing import Callable, Iterator

from .fork import after_fork


class _Here(threading.local):
    # Work that is still to run in this thread's turn; None outside of a turn.
    queue: deque[Callable[[], None]] | None = None


class _Turns:
    def __init__(self) -> None:
        # Only the thread that has it can release it: see `_after_fork_in_parent`.
        self.lock = threading.RLock()
        self.here = _Here()
        # Work for the next turn.
        self.left: deque[Callable[[], None]] = deque()


_turns = _Turns()
# A child gets a new lock: the thread that held the old lock does not exist there.
after_fork(_turns.__init__)  # type: ignore[misc]


def _before_fork() -> None:
    """Waits until no other thread is in a turn: a child must not copy a half-done turn."""
    if not is_in_turn():
        _turns.lock.acquire()


def _after_fork_in_parent() -> None:
    if not is_in_turn():
        # An interrupt of the wait before the fork is ignored there: another thread has the lock.
        with contextlib.suppress(RuntimeError):
            _turns.lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent)


def is_in_turn() -> bool:
    return _turns.here.queue is not None


def run_turn(work: Callable[[], None]) -> None:
    """Runs work in a turn, and then all work that it queues on this thread.

    First it runs what finalizers have left: the caller may know that its answer was collected.
    """
    here = _turns.here
    if here.queue is not None:
        here.queue.append(work)
        return
    # Made before the lock is held: an allocation may collect what waits for a turn of its own.
    queue: deque[Callable[[], None]] = deque()
    with _turns.lock:
        here.queue = queue
        try:
            for first in itertools.chain(_take_left(), (work,)):
                queue.append(first)
                while queue:
                    queue.popleft()()
        finally:
            here.queue = None


def leave(work: Callable[[], None]) -> None:
    """Leaves work for the next turn. It takes no lock."""
    _turns.left.append(work)


def _take_left() -> Iterator[Callable[[], None]]:
    while _turns.left:
        yield _turns.left.popleft()
