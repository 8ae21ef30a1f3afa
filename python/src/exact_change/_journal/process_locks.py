"""Named locks that several processes share."""

from __future__ import annotations

from typing import Callable, Sequence, TypeVar

from .._base.js import stringify, utf16_key
from .._kernel.hosts import threads
from .._kernel.signals import Signal, void
from .._kernel.steps import ensure, join, start
from .._kernel.task import Steps, begin
from .._kernel.workers import workers
from .locks import Locks, MemoryLocks
from .types import Owner

T = TypeVar("T")


class ProcessLocks:
    """Named locks that several processes share.

    The calls of this process queue here, so that only one of them asks for a lock.
    """

    def __init__(self) -> None:
        self._queue = MemoryLocks()
        self._closing = Signal()

    def of(self, owner: Owner) -> Locks:
        return _OwnerLocks(self, owner)

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        callers: Sequence[Signal | None],
    ) -> Steps[T]:
        signals = [*callers, self._closing]
        taken: list[str] = []
        is_freed = False

        def locked() -> Steps[T]:
            # Every process takes locks in the order of the names, so none waits in a circle.
            for name in sorted(set(names), key=utf16_key):
                yield from self._take(name, signals)
                taken.append(name)
            return (yield from work())

        def free() -> Steps[None]:
            nonlocal is_freed
            is_freed = True
            # In threads, because the event loop of the call may close before the locks are free. To
            # free them once more then could free them for the next holder.
            yield from join((yield from start(self._free(taken), threads)))

        def held() -> Steps[T]:
            try:
                return (yield from ensure(locked(), free))
            except GeneratorExit:
                # The event loop of the call is gone, so free the locks in a worker thread.
                if not is_freed:
                    workers.bury(lambda: void(begin(threads, self._free(taken))))
                raise

        workers.watch_graves()
        return (yield from self._queue.hold(names, held, signals))

    def _take(self, name: str, signals: Sequence[Signal | None]) -> Steps[None]:
        """Takes a lock that no call of this process holds; waits for other processes."""
        raise NotImplementedError

    def _free(self, names: Sequence[str]) -> Steps[None]:
        raise NotImplementedError


class _OwnerLocks:
    def __init__(self, locks: ProcessLocks, owner: Owner) -> None:
        self._locks = locks
        self._owner = owner

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        signals: Sequence[Signal | None] = (),
    ) -> Steps[T]:
        return self._locks.hold([lock_name(self._owner, name) for name in names], work, signals)


def lock_name(owner: Owner, name: str) -> str:
    """Returns the name of an owner's lock or counter, unique among all owners."""
    return stringify([owner.wallet, owner.network, name])
