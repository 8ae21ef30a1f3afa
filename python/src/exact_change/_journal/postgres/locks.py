"""Locks that all processes share, under keys of advisory locks."""

from __future__ import annotations

from typing import Callable, Sequence, TypeVar

from ..._base.js import utf16_key
from ..._kernel.hosts import threads
from ..._kernel.signals import Signal
from ..._kernel.steps import Forget, ensure, fails_on, join, park, quiet, settled, start
from ..._kernel.task import Host, Steps, Task, Wake, begin
from ..._kernel.workers import workers
from ..locks import MemoryLocks, let_go_of_gone
from ..types import Owner
from .connection import Query
from .failures import closed
from .keys import lock_key, lock_name
from .session import Session
from .statements import Statements

T = TypeVar("T")
# Milliseconds between tries to take a lock, at first and at most. A notice alone is not enough: a
# process that died sends none, nor does a reservation that only tested the lock.
_FIRST_WAIT_MS = 25
_LONGEST_WAIT_MS = 1_000


class SharedLocks:
    """The locks of one process."""

    def __init__(self, statements: Statements, channel: str) -> None:
        self.session: Session
        self._statements = statements
        self._channel = channel
        # The calls of this process queue here, so that only one of them asks the session for the
        # lock.
        self._queue = MemoryLocks()
        self._closing = Signal()
        self._held: dict[str, int] = {}
        self._waiting: dict[str, dict[Wake, None]] = {}

    @property
    def is_any(self) -> bool:
        """Whether a call holds a lock or waits for it."""
        return bool(self._held or self._waiting)

    def of(self, owner: Owner) -> OwnerLocks:
        """Returns the locks of an owner."""
        return OwnerLocks(self, owner)

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        callers: Sequence[Signal | None],
    ) -> Steps[T]:
        """Runs work while it holds all names."""
        signals = [*callers, self._closing]
        taken: list[str] = []

        def locked() -> Steps[T]:
            # Every process takes locks in the order of the names, so none waits in a circle.
            for name in sorted(set(names), key=utf16_key):
                key = lock_key(self._statements.schema, "lock", name)
                yield from self._take(key, signals)
                taken.append(key)
            return (yield from work())

        def held() -> Steps[T]:
            try:
                return (yield from ensure(locked(), lambda: self._unlock(taken)))
            except GeneratorExit:
                # The event loop of the call is gone, so free the locks in a worker thread.
                workers.bury(lambda: void(begin(threads, self._unlock(taken))))
                raise

        workers.watch_graves()
        return (yield from self._queue.hold(names, held, signals))

    def freed(self, key: str) -> None:
        """Wakes the calls that wait for a lock, because a process freed it."""
        for wake in list(self._waiting.get(key, ())):
            wake()

    def lost(self) -> None:
        """Wakes all waiting calls, because the connection was lost with all its locks."""
        for key in list(self._waiting):
            self.freed(key)

    def restore(self, query: Query) -> None:
        """Takes the locks of running work again, on a new connection.

        Leaves out a lock that another process has taken by now.
        """
        for key, times in list(self._held.items()):
            for _ in range(times):
                query(self._statements["lock"], [key])

    def close(self) -> None:
        """Refuses all new and waiting calls. Does not stop running work."""
        self._closing.abort(closed("lock"))

    def _take(self, key: str, signals: Sequence[Signal | None]) -> Steps[None]:
        wait = _FIRST_WAIT_MS
        while True:
            # Listen before trying the lock, so that no notice is missed.
            notice = yield from start(self._notice(key, wait, signals))
            asking = yield from start(self._try(key))
            try:
                is_locked = yield from join(asking, *signals)
            except Exception:
                yield from start(self._give_back(key, asking))
                raise
            if is_locked:
                self.freed_notice(notice, key)
                return
            yield from join(notice)
            let_go_of_gone()
            wait = min(2 * wait, _LONGEST_WAIT_MS)

    def freed_notice(self, notice: Task[None], key: str) -> None:
        """Ends the wait for a notice that is no longer needed."""
        if not notice.is_settled:
            self.freed(key)

    def _notice(self, key: str, ms: float, signals: Sequence[Signal | None]) -> Steps[None]:
        def register(host: Host, wake: Wake) -> Sequence[Forget]:
            self._waiting.setdefault(key, {})[wake] = None

            def leave() -> None:
                left = self._waiting.get(key, {})
                left.pop(wake, None)
                if not left:
                    self._waiting.pop(key, None)

            return [*fails_on(wake, signals), leave, host.later(ms, wake)]

        yield park(register)

    def _try(self, key: str) -> Steps[bool]:
        def ask(query: Query, _holder: str) -> bool:
            (row,) = query(self._statements["lock"], [key])
            is_locked = row["locked"] == "true"
            if is_locked:
                self._held[key] = self._held.get(key, 0) + 1
            return is_locked

        return self.session.run("lock", ask)

    def _give_back(self, key: str, asking: Task[bool]) -> Steps[None]:
        if (yield from settled(asking)) is True:
            yield from self._unlock([key])

    def _unlock(self, keys: Sequence[str]) -> Steps[None]:
        if not keys:
            return
        for key in keys:
            left = self._held.get(key, 0) - 1
            if left > 0:
                self._held[key] = left
            else:
                self._held.pop(key, None)
        freed = list(keys)
        text, channel = self._statements["unlock"], self._channel
        # If this fails, the session ends the connection, and Postgres frees its locks.
        yield from quiet(self.session.run("unlock", lambda query, _: query(text, [freed, channel])))


class OwnerLocks:
    """The locks of one owner."""

    def __init__(self, locks: SharedLocks, owner: Owner) -> None:
        self._locks = locks
        self._owner = owner

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        signals: Sequence[Signal | None] = (),
    ) -> Steps[T]:
        """Runs work while it holds all names."""
        return self._locks.hold([lock_name(self._owner, name) for name in names], work, signals)


def void(_value: object) -> None:
    """Drops a value, so that a callback returns None."""
