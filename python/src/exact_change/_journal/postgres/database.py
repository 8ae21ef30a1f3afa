"""Statements with a deadline. A connection that failed is not used again."""

from __future__ import annotations

import functools
import threading
import time
from collections import deque
from typing import Callable, Sequence, TypeVar

from ..._kernel.deadline import start_deadline
from ..._kernel.inside import Inside
from ..._kernel.released import released
from ..._kernel.steps import Forget, call, park
from ..._kernel.task import Host, Steps, Wake
from ..locks import MemoryLocks
from .connection import Connection, Query, Row, Value
from .failures import SqlError, closed, unavailable

T = TypeVar("T")
# The default of the pools of `pg`.
_MOST_CONNECTIONS = 10
# Milliseconds between checks of a closing gate whether all calls have ended.
_LOOK_MS = 10


class Pool:
    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._is_closed = False
        self.slots = _Slots()
        # Transactions of a key run one by one: only one connection then waits for their lock.
        self.turns = MemoryLocks()

    def connect(self, end: float) -> Connection:
        """Opens a connection that the caller keeps. Blocks."""
        return Connection(self._address, end)

    def use(self, end: float, work: Callable[[Query], T]) -> T:
        """Runs work with a connection. Blocks."""
        connection = self._idle_one() or self.connect(end)
        try:
            result = work(functools.partial(connection.query, end=end))
        except BaseException:
            connection.close()
            raise
        with self._lock:
            is_kept = not self._is_closed
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()
        return result

    def _idle_one(self) -> Connection | None:
        """Returns an idle connection that the server has not ended, as a restart ends all."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.close()

    def close(self) -> None:
        """Ends idle connections at once, and connections in use after their work."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


class Gate:
    """Counts the running calls, so that ``close`` can wait for them.

    A call runs once ``ready`` returns, which gets the deadline of the call.
    """

    def __init__(self, ready: Callable[[float], Steps[None]], timeout_ms: int) -> None:
        self._ready = ready
        self._inside = Inside(timeout_ms)
        self._is_closed = False

    def enter(self, step: str, end: float, work: Callable[[float], Steps[T]]) -> Steps[T]:
        """Runs a call. Raises ``journal_unavailable`` once the gate is closed."""
        if self._is_closed:
            raise closed(step)

        def inside() -> Steps[T]:
            try:
                yield from self._ready(end)
            except TimeoutError as error:
                raise unavailable(step, error)
            return (yield from work(end))

        return (yield from self._inside.run(inside))

    def close(self) -> Steps[None]:
        """Refuses new calls, and waits until all have ended; see :class:`Inside`."""
        self._is_closed = True
        yield from self._inside.over(_LOOK_MS)


class Database:
    """Statements with a deadline. Calls pass ``gate``, if there is one.

    What Postgres rolled back to undo a deadlock is done again.
    """

    def __init__(self, pool: Pool, timeout_ms: int, gate: Gate | None = None) -> None:
        self.pool = pool
        self.timeout_ms = timeout_ms
        self._gate = gate

    def deadline(self) -> float:
        """Returns the deadline of a call that begins now, by the monotonic clock."""
        return time.monotonic() + self.timeout_ms / 1000

    def enter(
        self, step: str, work: Callable[[float], Steps[T]], end: float | None = None
    ) -> Steps[T]:
        """Runs a call that passes the gate within its deadline, which ``work`` gets."""
        end = end or self.deadline()
        return work(end) if self._gate is None else self._gate.enter(step, end, work)

    def query(
        self, step: str, text: str, values: Sequence[Value] | None = None
    ) -> Steps[list[Row]]:
        """Runs one statement. Raises ``journal_unavailable``."""
        return self.use(step, lambda query: query(text, values))

    def transaction(self, step: str, key: str, work: Callable[[Query], T]) -> Steps[T]:
        """Runs statements in one transaction. Each sees all rows that were committed before it.

        Transactions of a key run one by one. ``work`` runs in a thread, and may block.
        """
        timeout = self.timeout_ms
        # Read committed, whatever the database's default is: a session that waited for a lock must
        # see the rows that the last holder wrote. What caps count must not depend on the session's
        # settings. The timeouts end a holder that lost its machine before TCP notices.
        begin = (
            "begin isolation level read committed; set local search_path = pg_catalog, pg_temp; "
            f"set local array_nulls = on; set local lock_timeout = {timeout}; "
            f"set local idle_in_transaction_session_timeout = {timeout}"
        )

        def together(query: Query) -> T:
            query(begin)
            result = work(query)
            query("commit")
            return result

        end = self.deadline()
        deadline = yield from start_deadline(timeout, None)

        def in_turn() -> Steps[T]:
            deadline.end()
            return (yield from self.use(step, together, end))

        try:
            return (yield from self.pool.turns.hold([key], in_turn, [deadline.signal]))
        except TimeoutError as error:
            raise unavailable(step, error)
        finally:
            deadline.end()

    def use(self, step: str, work: Callable[[Query], T], end: float | None = None) -> Steps[T]:
        """Runs work with a connection, in a thread, until ``end`` at the latest."""
        return self.enter(step, lambda end: self._use(step, work, end), end)

    def _use(self, step: str, work: Callable[[Query], T], end: float) -> Steps[T]:
        pool = self.pool

        def perform() -> T:
            return _past_deadlock(lambda: pool.use(end, work))

        try:
            return (yield from pool.slots.hold(end, lambda: call(perform)))
        except Exception as error:
            raise unavailable(step, error)


class _Slots:
    """Lets as many calls in as there may be connections, first come first served."""

    def __init__(self) -> None:
        self._free = _MOST_CONNECTIONS
        self._waiting: deque[Wake] = deque()

    def hold(self, end: float, work: Callable[[], Steps[T]]) -> Steps[T]:
        if self._free > 0:
            self._free -= 1
        else:
            yield park(lambda host, wake: self._wait(host, wake, end))
        return (yield from released(work(), self._release))

    def _wait(self, host: Host, wake: Wake, end: float) -> Sequence[Forget]:
        self._waiting.append(wake)

        def leave() -> None:
            if wake in self._waiting:
                self._waiting.remove(wake)

        error = TimeoutError("No connection was free in time.")
        ms = max(0.0, (end - time.monotonic()) * 1000)
        return [leave, host.later(ms, lambda: wake.fail(error))]

    def _release(self) -> None:
        while self._waiting:
            if self._waiting.popleft().give(self._release):
                return
        self._free += 1


def _past_deadlock(work: Callable[[], T]) -> T:
    """Does work again as long as Postgres rolls all of it back to undo a deadlock.

    Work that begins too late fails otherwise.
    """
    while True:
        try:
            return work()
        except SqlError as error:
            if error.state != "40P01":
                raise
