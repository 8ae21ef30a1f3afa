"""A forked child has its parent's memory, but not its threads, sockets and held locks."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Callable

from typing_extensions import Protocol

_resets: list[Callable[[], None]] = []
_renewed: weakref.WeakSet[Renewed] = weakref.WeakSet()


def after_fork(reset: Callable[[], None]) -> None:
    """Calls ``reset`` in each child, before any other code of the child."""
    _resets.append(reset)


class Renewed(Protocol):
    """An object that begins anew in a child."""

    def renew(self) -> None:
        """Forgets the parent's state."""
        ...


def in_child(renewed: Renewed) -> None:
    """Renews an object in each child, for as long as the object exists."""
    _renewed.add(renewed)


class ForkLock:
    """A lock that is free in a child, even if a thread of the parent held it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        in_child(self)

    def renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


def _in_child() -> None:
    for reset in _resets:
        reset()
    for renewed in list(_renewed):
        renewed.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
