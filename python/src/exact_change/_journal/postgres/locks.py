"""Locks that all processes share, under keys of advisory locks."""

from __future__ import annotations

import functools
from typing import Sequence, TypeVar

from ..._kernel.hosts import threads
from ..._kernel.signals import Signal
from ..._kernel.steps import Forget, fails_on, join, park, quiet, settled, start
from ..._kernel.task import Host, Steps, Task, Wake, begin
from ..._kernel.workers import workers
from ..locks import free_abandoned_locks
from ..process_locks import ProcessLocks
from .connection import Query
from .failures import closed, pooled
from .keys import lock_key
from .session import Session
from .statements import Statements

T = TypeVar("T")
# Milliseconds between tries to take a lock, at first and at most. A notice alone is not enough: a
# process that died sends none, nor does a reservation that only tested the lock.
_FIRST_WAIT_MS = 25
_LONGEST_WAIT_MS = 1_000


class SharedLocks(ProcessLocks):
    def __init__(self, statements: Statements, channel: str) -> None:
        super().__init__()
        self.session: Session
        self._statements = statements
        self._channel = channel
        # How often each key is held.
        self._held: dict[str, int] = {}
        self._waiting: dict[str, dict[Wake, None]] = {}

    @property
    def is_any(self) -> bool:
        """Whether a call holds a lock or waits for it."""
        return bool(self._held or self._waiting)

    def freed(self, key: str) -> None:
        """Wakes the calls that wait for a lock, because a process freed it."""
        for wake in list(self._waiting.get(key, ())):
            wake()

    def lost(self) -> None:
        """Wakes all waiting calls, because the connection was lost with all its locks."""
        for key in list(self._waiting):
            self.freed(key)

    def restore(self, query: Query, pid: str) -> None:
        """Takes the locks of running work again, on a new connection.

        Leaves out a lock that another process has taken by now.
        """
        for key, times in list(self._held.items()):
            for _ in range(times):
                query(self._statements["lock"], [key, pid])

    def close(self) -> None:
        """Refuses all new and waiting calls. Does not stop running work."""
        self._closing.abort(closed("lock"))

    def _key_of(self, name: str) -> str:
        return lock_key(self._statements.schema, "lock", name)

    def _take(self, name: str, signals: Sequence[Signal | None]) -> Steps[None]:
        key, wait = self._key_of(name), _FIRST_WAIT_MS
        while True:
            # Listen before trying the lock, so that no notice is missed.
            notice = yield from start(self._notice(key, wait, signals))
            asking = yield from start(self._try(key), threads)
            try:
                is_locked = yield from join(asking, *signals)
            except Exception:
                self._give_back(key, asking)
                raise
            except GeneratorExit:
                # The event loop of the call is gone, and the answer may still be a lock.
                workers.bury(functools.partial(self._give_back, key, asking))
                raise
            if is_locked:
                # The notice is no longer needed.
                if not notice.is_settled:
                    self.freed(key)
                return
            yield from join(notice)
            free_abandoned_locks()
            wait = min(2 * wait, _LONGEST_WAIT_MS)

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
        def ask(query: Query, _holder: str, pid: str) -> bool:
            (row,) = query(self._statements["lock"], [key, pid])
            if "locked" not in row:
                raise pooled()
            is_locked = row["locked"] == "true"
            if is_locked:
                self._held[key] = self._held.get(key, 0) + 1
            return is_locked

        return self.session.run("lock", ask)

    def _give_back(self, key: str, asking: Task[bool]) -> None:
        """Frees the lock if the database gives it."""

        def give_back() -> Steps[None]:
            if (yield from settled(asking)) is True:
                yield from self._unlock([key])

        begin(threads, give_back())

    def _free(self, names: Sequence[str]) -> Steps[None]:
        return self._unlock([self._key_of(name) for name in names])

    def _unlock(self, keys: Sequence[str]) -> Steps[None]:
        if not keys:
            return
        for key in keys:
            left = self._held.get(key, 0) - 1
            if left > 0:
                self._held[key] = left
            else:
                self._held.pop(key, None)
        text, values = self._statements["unlock"], [list(keys), self._channel]
        # If this fails, the session ends the connection, and Postgres frees its locks.
        yield from quiet(
            self.session.run("unlock", lambda query, _holder, _pid: query(text, values))
        )
