"""A connection to Postgres by libpq of psycopg. All values are text; each query has a deadline."""

from __future__ import annotations

import contextlib
import math
import os
import select
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Sequence, Union

from ..._base.js import js_number
from ..._kernel.fork import in_child
from ...errors import failure
from .failures import LostError, SqlError

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult


class _LockMs:
    """A value of a statement: the milliseconds that the database may wait for a lock.

    The wait ends before the call gives up, or the statement would do its work after its caller was
    refused.
    """


LOCK_MS = _LockMs()
# The share of a call's remaining time that a lock may take. The rest is for the way there.
_LOCK_SHARE = 0.9
Scalar = Union[str, int, float, None]
Value = Union[Scalar, _LockMs, Sequence[Scalar]]
# A row without its nulls.
Row = Dict[str, str]
Query = Callable[..., List[Row]]
_LOST = "The connection to Postgres was lost"


def load_libpq() -> Any:
    """Loads the wrapper of libpq. Raises ``ConfigError`` (``missing_dependency``)."""
    try:
        from psycopg import pq
    except ImportError as error:
        raise failure(
            "missing_dependency",
            "The Postgres journal needs a package that is not installed, or that finds no libpq. "
            'Install it: pip install "exact-change[postgres]"',
            {"packages": ["psycopg"]},
            cause=error,
        )
    return pq


class Connection:
    """A connection that one thread at a time uses; the listening thread takes turns with them."""

    def __init__(self, address: str, end: float) -> None:
        """Connects. ``end`` is the deadline, by the monotonic clock."""
        self._pq = load_libpq()
        from psycopg import Error

        self._pq_error: type[Exception] = Error
        self._lock = threading.Lock()
        self._conn: PGconn = self._pq.PGconn.connect_start(address.encode())
        self._descriptor = -1
        self._heard: Callable[[str, str], None] | None = None
        self._wakes: tuple[int, int] | None = None
        self.is_over = False
        in_child(self)
        try:
            self._connect(end)
        except BaseException:
            self.close()
            raise

    def query(self, text: str, values: Sequence[Value] | None = None, *, end: float) -> list[Row]:
        """Runs one statement and returns its rows.

        Without values, it may be several statements, whose rows are not used.
        """
        with self._lock:
            if self.is_over:
                raise LostError(_LOST)
            rows = self._query(text, values, end)
            notices = self._notices()
        self._tell(notices)
        return rows

    def listen(self, heard: Callable[[str, str], None], lost: Callable[[], None]) -> None:
        """Calls ``heard`` with channel and payload of notifications, and ``lost`` at the end."""
        self._heard = heard
        self._wakes = os.pipe()
        threading.Thread(
            target=self._watch, args=(lost,), name="exact-change postgres", daemon=True
        ).start()

    def is_usable(self) -> bool:
        """Returns whether an idle connection works: a server that ends it sends data first."""
        return not self.is_over and not _ready([self._descriptor], False, 0)

    def close(self) -> None:
        """Ends the connection, from any thread but a thread that is in a query."""
        with self._lock:
            if self.is_over:
                return
            self.is_over = True
            if self._wakes is None:
                self._conn.finish()
            else:
                # The listening thread ends the connection: it still waits on the descriptor, and
                # another file must not get that number meanwhile.
                os.write(self._wakes[1], b"\0")

    def renew(self) -> None:
        """Closes the descriptors in a forked child, but says no goodbye on the connection.

        The child must not keep the connection open, because the parent's claims live as long.
        """
        self._lock = threading.Lock()
        is_open, self.is_over = not self.is_over, True
        for descriptor in (self._descriptor if is_open else -1, *(self._wakes or ())):
            if descriptor != -1:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        self._wakes = None

    def _connect(self, end: float) -> None:
        polling, status = self._pq.PollingStatus, self._pq.ConnStatus
        conn = self._conn
        is_writing = True
        while True:
            if conn.status == status.BAD:
                raise LostError(_said(conn.get_error_message()))
            # The descriptor may change with each address that libpq tries.
            self._descriptor = conn.socket
            self._wait(end, is_writing=is_writing)
            step = conn.connect_poll()
            if step == polling.OK:
                break
            if step == polling.FAILED:
                raise LostError(_said(conn.get_error_message()))
            is_writing = step == polling.WRITING
        conn.nonblocking = 1
        conn.notice_handler = None
        self._descriptor = conn.socket

    def _query(self, text: str, values: Sequence[Value] | None, end: float) -> list[Row]:
        conn = self._conn
        try:
            if values is None:
                conn.send_query(text.encode())
            else:
                conn.send_query_params(text.encode(), [_encoded(value, end) for value in values])
            while conn.flush():
                self._wait(end, is_writing=True)
                conn.consume_input()
            rows: list[Row] = []
            error: SqlError | None = None
            while True:
                while conn.is_busy():
                    self._wait(end, is_writing=False)
                    conn.consume_input()
                result = conn.get_result()
                if result is None:
                    break
                if error is None:
                    error = self._error_in(result)
                rows = self._rows_in(result)
        except self._pq_error as lost:
            raise LostError(_LOST) from lost
        if error is not None:
            raise error
        return rows

    def _error_in(self, result: PGresult) -> SqlError | None:
        if result.status != self._pq.ExecStatus.FATAL_ERROR:
            return None
        state = result.error_field(self._pq.DiagnosticField.SQLSTATE)
        if state is None:
            raise LostError(_said(result.get_error_message()))
        return SqlError(_said(result.get_error_message()), state.decode())

    def _rows_in(self, result: PGresult) -> list[Row]:
        names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
        return [
            {
                name: value.decode()
                for column, name in enumerate(names)
                for value in [result.get_value(row, column)]
                if value is not None
            }
            for row in range(result.ntuples)
        ]

    def _wait(self, end: float, *, is_writing: bool) -> None:
        left = end - time.monotonic()
        if left <= 0 or not _ready([self._descriptor], is_writing, left):
            raise TimeoutError("Postgres did not answer in time.")

    def _notices(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        with contextlib.suppress(self._pq_error):
            while True:
                notice = self._conn.notifies()
                if notice is None:
                    break
                found.append((notice.relname.decode(), notice.extra.decode()))
        return found

    def _tell(self, notices: Sequence[tuple[str, str]]) -> None:
        if self._heard is not None:
            for channel, payload in notices:
                self._heard(channel, payload)

    def _watch(self, lost: Callable[[], None]) -> None:
        assert self._wakes is not None  # noqa: S101
        wake, hand = self._wakes
        while True:
            _ready([self._descriptor, wake], False, None)
            notices: list[tuple[str, str]] = []
            with self._lock:
                if not self.is_over:
                    try:
                        self._conn.consume_input()
                        notices = self._notices()
                    except self._pq_error:
                        self.is_over = True
                if self.is_over:
                    self._conn.finish()
                    os.close(wake)
                    os.close(hand)
                    self._wakes = None
                    break
            self._tell(notices)
        lost()


def _ready(descriptors: Sequence[int], is_writing: bool, seconds: float | None) -> bool:
    """Waits until a descriptor can be read or, if ``is_writing``, written. Returns whether so."""
    if not hasattr(select, "poll"):
        writable = descriptors[: 1 if is_writing else 0]
        return any(select.select(descriptors, writable, [], seconds))
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN | (select.POLLOUT if is_writing else 0))
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def _encoded(value: Value, end: float) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, _LockMs):
        left = max(1.0, (end - time.monotonic()) * 1000)
        return str(math.ceil(left * _LOCK_SHARE)).encode()
    if isinstance(value, (str, int, float)):
        return _text(value).encode()
    return f"{{{','.join(map(_element, value))}}}".encode()


def _element(value: Scalar) -> str:
    if value is None:
        return "NULL"
    escaped = _text(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _text(value: str | int | float) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return "-Infinity" if value == float("-inf") else js_number(value)


def _said(message: str) -> str:
    """Returns a message of libpq without its line ends. It may name the address, no password."""
    return message.strip()
