"""A forked child has the memory of its parent and none of its threads, sockets and locks."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType
from typing import Callable

_resets: list[Callable[[], None]] = []
_locks: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def after_fork(reset: Callable[[], None]) -> None:
    """Calls ``reset`` in each child, before any other code of it."""
    _resets.append(reset)


class ForkLock:
    """A lock that is free in a child, whoever held it in the parent."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def renew(self) -> None:
        """Frees it."""
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()


def _in_child() -> None:
    for reset in _resets:
        reset()
    for lock in _locks:
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
