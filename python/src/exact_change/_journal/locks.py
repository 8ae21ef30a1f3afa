"""Named locks, first come first served, across threads and event loops."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any, Callable, NamedTuple, Sequence, TypeVar

from typing_extensions import Protocol

from .._base.js import utf16_key
from .._kernel.fork import ForkLock, after_fork
from .._kernel.hosts import this_host
from .._kernel.released import released
from .._kernel.signals import Signal, check
from .._kernel.steps import Forget, fails_on, park
from .._kernel.task import Host, Steps, Wake
from ..errors import ExactChangeError, failure

T = TypeVar("T")
# Time for a person to sign, for a swap to land late, and for the calls ahead in the queue.
LOCK_WAIT_MS = 15 * 60_000
# Milliseconds between checks whether a holder's event loop was closed.
_LOOK_MS = 250
_all: weakref.WeakSet[MemoryLocks] = weakref.WeakSet()
# Held to read or to change `_all`: a thread may make locks outside of a turn.
_all_lock = ForkLock()
# Before the child makes its wallets, which need this lock.
after_fork(_all_lock.renew)


def free_abandoned_locks() -> None:
    """Frees the locks of calls on closed event loops, in all locks of this process.

    All, because two journals may use one file or database. There the lock belongs to this process,
    which lives on.
    """
    with _all_lock:
        every = list(_all)
    for locks in every:
        locks.free_abandoned()


class Locks(Protocol):
    """Named locks, first come first served."""

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        signals: Sequence[Signal | None] = (),
    ) -> Steps[T]:
        """Runs work while it holds all names. Every call takes names in the same order.

        When a signal fires, a waiting call leaves the queue and raises the signal's reason. It
        raises ``timeout`` if it waits longer than work under a lock can take. Work that has begun
        is not stopped.
        """
        ...


class _Holder(NamedTuple):
    """Steps under a lock, and the host that runs them."""

    host: Host
    steps: Steps[Any]


class MemoryLocks:
    """Locks of one process. A lock is free if the event loop of its call was closed."""

    def __init__(self) -> None:
        # The wakes that wait for each lock that is held.
        self._queues: dict[str, deque[Wake]] = {}
        self._holders: dict[str, _Holder] = {}
        with _all_lock:
            _all.add(self)

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        signals: Sequence[Signal | None] = (),
    ) -> Steps[T]:
        host = yield from this_host()
        held: list[str] = []

        def locked() -> Steps[T]:
            for name in sorted(set(names), key=utf16_key):
                yield from self._take(name, signals)
                held.append(name)
                self._holders[name] = _Holder(host, steps)
            return (yield from work())

        def release() -> None:
            for name in reversed(held):
                self._release(name)

        for signal in signals:
            check(signal)
        steps = released(locked(), release)
        return (yield from steps)

    def is_held(self, name: str) -> bool:
        return name in self._queues

    def _take(self, name: str, signals: Sequence[Signal | None]) -> Steps[None]:
        self.free_abandoned()
        if name not in self._queues:
            self._queues[name] = deque()
            return

        def register(host: Host, wake: Wake) -> Sequence[Forget]:
            waiting = self._queues.get(name)
            # The holder may have been collected a moment ago.
            if waiting is None:
                self._queues[name] = deque()
                wake()
                return ()
            if self._is_stuck(name, signals):
                wake.fail(_stuck())
                return ()
            waiting.append(wake)

            def leave() -> None:
                if wake in waiting:
                    waiting.remove(wake)

            def look() -> None:
                self.free_abandoned()
                if self._is_stuck(name, signals):
                    wake.fail(_stuck())
                elif not wake.is_used:
                    looks[0] = host.later(_LOOK_MS, look)

            looks = [host.later(_LOOK_MS, look)]
            cancel = host.later(LOCK_WAIT_MS, lambda: wake.fail(_wait_timeout()))
            return [*fails_on(wake, signals), leave, cancel, lambda: looks[0]()]

        yield park(register)

    def _is_stuck(self, name: str, signals: Sequence[Signal | None]) -> bool:
        """Returns whether the caller of one of the signals blocks the event loop of the holder."""
        holder = self._holders.get(name)
        return holder is not None and any(
            signal is not None and signal.blocks is holder.host for signal in signals
        )

    def free_abandoned(self) -> None:
        """Closes the steps of holders on closed event loops, in case they are never collected."""
        for holder in list(self._holders.values()):
            if holder.host.is_gone:
                holder.steps.close()

    def _release(self, name: str) -> None:
        self._holders.pop(name, None)
        queue = self._queues[name]
        # Hand the lock to the next call, so that a new call cannot take it first.
        while queue:
            wake = queue.popleft()
            if wake.give(lambda: self._release(name)):
                return
        del self._queues[name]


def _stuck() -> ExactChangeError:
    return failure(
        "timeout",
        "This call blocks an event loop, and waits for a call on that loop, so nothing more was "
        "signed. Use an AsyncClient there, or a Client in another thread.",
        {"step": "lock", "timeout_ms": 0},
    )


def _wait_timeout() -> ExactChangeError:
    return failure(
        "timeout",
        f"No answer within {LOCK_WAIT_MS:g} ms, so nothing more was signed. Try again.",
        {"step": "lock", "timeout_ms": LOCK_WAIT_MS},
    )
