"""Named locks, first come first served, across threads and event loops."""

from __future__ import annotations

from collections import deque
from typing import Callable, Sequence, TypeVar

from typing_extensions import Protocol

from .._base.js import utf16_key
from .._kernel.signals import Signal, check
from .._kernel.steps import Forget, fails_on, park
from .._kernel.task import Host, Steps, Wake
from ..errors import ExactChangeError, failure

T = TypeVar("T")
# A signer that is a person, a swap that lands late, and others before us.
LOCK_WAIT_MS = 15 * 60_000


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


class MemoryLocks:
    """Locks of one process."""

    def __init__(self) -> None:
        # Those that wait for each lock that is held.
        self._queues: dict[str, deque[Wake]] = {}

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        signals: Sequence[Signal | None] = (),
    ) -> Steps[T]:
        """Runs work while holding all names."""
        for signal in signals:
            check(signal)
        held: list[str] = []
        try:
            for name in sorted(set(names), key=utf16_key):
                yield from self._take(name, signals)
                held.append(name)
            return (yield from work())
        finally:
            # Without any effect: a lock is let go of also if its holder is collected.
            for name in reversed(held):
                self._release(name)

    def is_held(self, name: str) -> bool:
        """Whether work is being done under a name."""
        return name in self._queues

    def _take(self, name: str, signals: Sequence[Signal | None]) -> Steps[None]:
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

            late = host.later(LOCK_WAIT_MS, lambda: wake.fail(late_for("lock", LOCK_WAIT_MS)))
            return [*fails_on(wake, signals), leave, late]

        yield park(register)

    def _release(self, name: str) -> None:
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
