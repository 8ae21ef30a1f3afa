"""Batches reservations: calls that come while a call of the owner runs share one statement."""

from __future__ import annotations

import contextlib
import re
from collections import deque
from typing import Sequence

from ..._kernel.hosts import threads
from ..._kernel.steps import Forget, park
from ..._kernel.task import Host, Steps, Wake, begin
from .connection import Row, Value
from .database import Database
from .failures import state_of, unavailable
from .statements import Statements

# The most calls in one statement.
_MOST = 32
# SQLSTATE of refused data of a single call: bad data, an id that exists, or too much data.
_OWN_FAULT = re.compile("(?:22|23|54)[0-9A-Z]{3}")


class _Waiting:
    def __init__(self, values: Sequence[Value]) -> None:
        self.values = values
        self.wake: Wake | None = None

    def answer(self, queue: deque[_Waiting], ms: float) -> Steps[Row]:
        """Waits for the row of the stored function, and returns it.

        The statement has a deadline of its own. A call that got into none within ``ms`` fails.
        """

        def late() -> None:
            with contextlib.suppress(ValueError):
                queue.remove(self)
                _fail(self, unavailable("reserve", TimeoutError("Its turn did not come in time.")))

        def register(host: Host, wake: Wake) -> Sequence[Forget]:
            self.wake = wake
            return [host.later(ms, late)]

        row: Row = yield park(register)
        return row


class BatchedReserve:
    """Makes reservations, in batches by owner: those of an owner run one by one anyway."""

    def __init__(self, database: Database, statements: Statements) -> None:
        self._database = database
        self._statements = statements
        # An owner's lock key has a queue here as long as `_serve` works on the queue.
        self._queues: dict[str, deque[_Waiting]] = {}

    def __call__(self, key: str, values: Sequence[Value]) -> Steps[Row]:
        """Makes a reservation, and returns the row of the stored function.

        ``key`` is the owner's lock key.
        """
        waiting = _Waiting(values)
        queue = self._queues.get(key)
        if queue is None:
            self._queues[key] = queue = deque((waiting,))
            begin(threads, self._serve(key, queue))
        else:
            queue.append(waiting)
        return (yield from waiting.answer(queue, self._database.timeout_ms))

    def _serve(self, key: str, queue: deque[_Waiting]) -> Steps[None]:
        while queue:
            batch = [queue.popleft() for _ in range(min(_MOST, len(queue)))]
            try:
                yield from self._together(batch)
            except Exception as error:
                # The database fails or is silent, so all waiting calls fail too. Calls that already
                # have an answer keep it.
                for waiting in [*batch, *queue]:
                    _fail(waiting, error)
                queue.clear()
        del self._queues[key]

    def _together(self, batch: Sequence[_Waiting]) -> Steps[None]:
        text = self._statements.reserve(len(batch))
        values = [value for waiting in batch for value in waiting.values]
        try:
            rows = yield from self._database.query("reserve", text, values)
        except Exception as error:
            if _OWN_FAULT.fullmatch(state_of(error) or "") is None:
                raise
            if len(batch) == 1:
                _fail(batch[0], error)
                return
            # Nothing was written, so run the calls one by one: only the call at fault fails.
            for waiting in batch:
                yield from self._together([waiting])
            return
        for waiting, row in zip(batch, rows):
            if waiting.wake is not None:
                waiting.wake(row)


def _fail(waiting: _Waiting, error: Exception) -> None:
    if waiting.wake is not None:
        waiting.wake.fail(error)
