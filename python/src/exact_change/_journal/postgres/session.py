"""One lasting connection, which holds the locks and the holder key of claims.

Postgres frees them when the connection ends, also after a crash.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ..._kernel.hosts import threads
from ..._kernel.steps import call, join, quiet, settled, sleep
from ..._kernel.task import Steps, Task, begin
from .connection import Connection, Query
from .database import Database
from .failures import SqlError, closed, pooled, unavailable
from .keys import random_lock_key
from .statements import Statements

if TYPE_CHECKING:
    from .journal import Parts

T = TypeVar("T")
# Steps that release locks or claims.
_GIVES_UP = ("unlock", "unclaim")
# Milliseconds before the connection is opened again, at first and at most.
_FIRST_WAIT_MS = 50
_LONGEST_WAIT_MS = 2_000
# Seconds within which a notification arrives, unless the database is busy.
_HEARS_S = 0.25
# Settings by which Postgres frees the locks of a vanished machine within half a minute, but never
# the locks of an idle connection. Postgres 13 has no `idle_session_timeout`.
_KEEPALIVE = (
    "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4; "
    "select set_config(name, '0', false) from pg_settings where name = 'idle_session_timeout'"
)


class Session:
    """One lasting connection, which listens on ``channel``."""

    def __init__(
        self, database: Database, statements: Statements, channel: str, events: Parts
    ) -> None:
        self._database = database
        self._statements = statements
        self._channel = channel
        self._events = events
        self._open: Connection | None = None
        # The id of the one server process that holds the locks.
        self._pid = ""
        self._is_heard = threading.Event()
        # The key of an advisory lock that only connections of this session ever hold.
        self._holder = random_lock_key()
        self._last: Task[Any] | None = None
        self._reviving = False
        self._is_closed = False

    @property
    def holder(self) -> str | None:
        """The holder key of the session, while its connection is open."""
        return None if self._open is None else self._holder

    def run(self, step: str, work: Callable[[Query, str, str], T]) -> Steps[T]:
        """Runs statements on the connection, one call after the other; opens it if needed.

        ``work`` gets the holder key, and the id of the one server process that holds it. Raises
        ``journal_unavailable``, or ``invalid_option`` if a proxy does not keep the session.
        """
        return self._database.enter(step, lambda end: self._run(step, end, work))

    def _run(self, step: str, end: float, work: Callable[[Query, str, str], T]) -> Steps[T]:
        if self._is_closed:
            raise closed(step)
        # Run it in threads: an event loop may end before other calls that wait for their turn.
        task = begin(threads, self._turn(self._last, step, end, work))
        self._last = task
        try:
            return (yield from join(task))
        except Exception as error:
            raise unavailable(step, error)

    def revive(self) -> None:
        """Opens the connection again if it was lost, in the background."""
        if not self._reviving:
            self._reviving = True
            begin(threads, self._revive())

    def close(self) -> Steps[None]:
        self._is_closed = True
        if self._last is not None:
            yield from settled(self._last)
        connection, self._open = self._open, None
        if connection is not None:
            yield from call(connection.close)

    def _turn(
        self, before: Task[Any] | None, step: str, end: float, work: Callable[[Query, str, str], T]
    ) -> Steps[T]:
        if before is not None:
            yield from settled(before)
        return (yield from call(lambda: self._perform(step, end, work)))

    def _perform(self, step: str, end: float, work: Callable[[Query, str, str], T]) -> T:
        """Runs statements on the connection, in a thread."""
        # Work does not begin if its deadline passed while it waited for its turn.
        if time.monotonic() >= end:
            # A skipped release would hold the lock for ever. So end the connection, which frees
            # all; the next connection takes the other locks again.
            if step in _GIVES_UP and self._open is not None:
                self._end(self._open)
            raise TimeoutError("Other work on the connection took too long.")
        connection = self._open
        if connection is None or connection.is_over:
            connection = self._connect(end)
        try:
            return work(functools.partial(connection.query, end=end), self._holder, self._pid)
        except BaseException:
            # The fate of the statement is unknown: end the connection, so that it holds no lock.
            self._end(connection)
            raise

    def _connect(self, end: float) -> Connection:
        connection = self._database.pool.connect(end)
        query = functools.partial(connection.query, end=end)
        connection.listen(self._heard, lambda: threads.enter(lambda: self._lost(connection)))
        try:
            # The channel's name has only safe letters, so it needs no escape.
            query(f'{_KEEPALIVE}; listen "{self._channel}"')
            self._pid = self._proven_pid(query, end)
            # Postgres may keep a lost connection, with its locks, until it notices the loss. So end
            # that connection first, and wait for its end.
            with contextlib.suppress(SqlError):
                # Not every role may: then only the wait remains.
                query(self._statements["endHolder"], [self._holder])
            query(self._statements["hold"], [self._holder])
            self._events.restore(query, self._holder, self._pid)
        except BaseException:
            connection.close()
            raise
        self._open = connection
        return connection

    def _proven_pid(self, query: Query, end: float) -> str:
        """Returns the id of the server process, once the connection surely keeps its session.

        Only then a notification arrives while the connection runs no statement. PgBouncer in
        transaction mode gives the process to other clients meanwhile, and drops the notification.
        """
        text, values = self._statements["notify"], [self._channel, self._holder]

        def pid_of() -> str:
            return query(self._statements["pid"], [])[0]["pid"]

        pid = pid_of()
        while True:
            self._is_heard.clear()
            (row,) = self._database.pool.use(end, lambda other: other(text, values))
            if row["pid"] == pid:
                break
            if self._is_heard.wait(_HEARS_S):
                return pid
            # A kept session hears a late notification with these statements: then ask again.
            pid_of()
            pid_of()
            if not self._is_heard.is_set():
                break
        query(f'unlisten "{self._channel}"')
        raise pooled()

    def _end(self, connection: Connection) -> None:
        if self._open is connection:
            self._open = None
        connection.close()

    def _heard(self, channel: str, payload: str) -> None:
        if channel == self._channel:
            if payload == self._holder:
                self._is_heard.set()
            threads.enter(lambda: self._events.notified(payload))

    def _lost(self, connection: Connection) -> None:
        if self._open is connection:
            self._open = None
        if not self._is_closed:
            self._events.lost()

    def _revive(self) -> Steps[None]:
        wait = _FIRST_WAIT_MS
        while not self._is_closed and self._open is None and self._events.needed():
            done = yield from quiet(self.run("connect", lambda _query, _holder, _pid: True), False)
            if not done:
                yield from sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT_MS)
        self._reviving = False
