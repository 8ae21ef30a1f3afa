"""A forked child has the memory of its parent and none of its threads, sockets and locks."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType
from typing import Callable

from typing_extensions import Protocol

_resets: list[Callable[[], None]] = []
_renewed: weakref.WeakSet[Renewed] = weakref.WeakSet()


def after_fork(reset: Callable[[], None]) -> None:
    """Calls ``reset`` in each child, before any other code of it."""
    _resets.append(reset)


class Renewed(Protocol):
    """What begins anew in a child."""

    def renew(self) -> None:
        """Forgets what is the parent's."""
        ...


def in_child(one: Renewed) -> None:
    """Has something begin anew in each child, for as long as it is there."""
    _renewed.add(one)


class ForkLock:
    """A lock that is free in a child, whoever held it in the parent."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        in_child(self)

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
    for one in list(_renewed):
        one.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
