"""Named locks, first come first served, across threads and event loops."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any, Callable, NamedTuple, Sequence, TypeVar

from typing_extensions import Protocol

from .._base.js import utf16_key
from .._kernel.hosts import this_host
from .._kernel.signals import Signal, check
from .._kernel.steps import Forget, fails_on, park
from .._kernel.task import Host, Steps, Wake
from ..errors import ExactChangeError, failure

T = TypeVar("T")
# A signer that is a person, a swap that lands late, and others before us.
LOCK_WAIT_MS = 15 * 60_000
# How often a holder is looked at, whose event loop may be closed.
_LOOK_MS = 250
_all: weakref.WeakSet[MemoryLocks] = weakref.WeakSet()


def let_go_of_gone() -> None:
    """Frees what calls hold whose event loop was closed, in all locks of this process.

    Two journals may be of one file or database: there a lock is this process's, which lives.
    """
    for locks in list(_all):
        locks.let_go_of_gone()


class Locks(Protocol):
    """Locks by name."""

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        signals: Sequence[Signal | None] = (),
    ) -> Steps[T]:
        """Runs work while holding all names, taken in one order everywhere.

        A call that waits for one leaves the queue if a signal fires, with its reason, or with
        ``timeout`` after longer than any work under a lock can take. Work that has begun is not
        stopped.
        """
        ...


class _Holder(NamedTuple):
    """Steps under a lock, and where they run."""

    host: Host
    steps: Steps[Any]


class MemoryLocks:
    """Locks of one process. Those of a call whose event loop was closed are free."""

    def __init__(self) -> None:
        # Those that wait for each lock that is held.
        self._queues: dict[str, deque[Wake]] = {}
        self._holders: dict[str, _Holder] = {}
        _all.add(self)

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        signals: Sequence[Signal | None] = (),
    ) -> Steps[T]:
        """Runs work while holding all names."""
        host = yield from this_host()

        def locked() -> Steps[T]:
            held: list[str] = []
            try:
                for name in sorted(set(names), key=utf16_key):
                    yield from self._take(name, signals)
                    held.append(name)
                    self._holders[name] = _Holder(host, steps)
                return (yield from work())
            finally:
                # Without any effect: a lock is let go of also if its holder is collected.
                for name in reversed(held):
                    self._release(name)

        for signal in signals:
            check(signal)
        steps = locked()
        return (yield from steps)

    def is_held(self, name: str) -> bool:
        """Whether work is being done under a name."""
        return name in self._queues

    def _take(self, name: str, signals: Sequence[Signal | None]) -> Steps[None]:
        self.let_go_of_gone()
        if name not in self._queues:
            self._queues[name] = deque()
            return

        def register(host: Host, wake: Wake) -> Sequence[Forget]:
            waiting = self._queues.get(name)
            # A holder may be collected at any moment, also in this one.
            if waiting is None:
                self._queues[name] = deque()
                wake()
                return ()
            waiting.append(wake)

            def leave() -> None:
                if wake in waiting:
                    waiting.remove(wake)

            def look() -> None:
                self.let_go_of_gone()
                if not wake.is_used:
                    looks[0] = host.later(_LOOK_MS, look)

            looks = [host.later(_LOOK_MS, look)]
            late = host.later(LOCK_WAIT_MS, lambda: wake.fail(late_for("lock", LOCK_WAIT_MS)))
            return [*fails_on(wake, signals), leave, late, lambda: looks[0]()]

        yield park(register)

    def let_go_of_gone(self) -> None:
        """Ends what holds them as if it were collected: something may refer to it for ever."""
        for holder in list(self._holders.values()):
            if holder.host.is_gone:
                holder.steps.close()

    def _release(self, name: str) -> None:
        self._holders.pop(name, None)
        queue = self._queues[name]
        # It is handed over: no call that comes in between takes it first.
        while queue:
            wake = queue.popleft()
            if wake.give():
                return
        del self._queues[name]


def late_for(step: str, ms: float) -> ExactChangeError:
    """No answer in time, before anything more was signed."""
    return failure(
        "timeout",
        f"No answer within {ms:g} ms, so nothing more was signed. Try again.",
        {"step": step, "timeout_ms": ms},
    )
