"""Reservations of one owner that come while one is under way go together, in one statement."""

from __future__ import annotations

import re
from collections import deque
from typing import Sequence

from ..._kernel.hosts import threads
from ..._kernel.steps import Forget, park
from ..._kernel.task import Host, Steps, Wake, begin
from .connection import Row, Value
from .database import Database, past_deadlock
from .failures import state_of
from .statements import Statements

# How many calls one statement does at most.
_MOST = 32
# What the database refuses of what one call brought: bad data, an id that is there, too much of it.
_OWN_FAULT = re.compile("(?:22|23|54)[0-9A-Z]{3}")


class _Waiting:
    def __init__(self, values: Sequence[Value]) -> None:
        self.values = values
        self.wake: Wake | None = None

    def answer(self) -> Steps[Row]:
        """What the database's function said."""

        def register(_host: Host, wake: Wake) -> Sequence[Forget]:
            self.wake = wake
            return ()

        row: Row = yield park(register)
        return row


class BatchedReserve:
    """By owner: they take turns in the database."""

    def __init__(self, database: Database, statements: Statements) -> None:
        self._database = database
        self._statements = statements
        # A list is here as long as it is worked on.
        self._queues: dict[str, deque[_Waiting]] = {}

    def __call__(self, key: str, values: Sequence[Value]) -> Steps[Row]:
        """Makes a reservation."""
        one = _Waiting(values)
        queue = self._queues.get(key)
        if queue is None:
            self._queues[key] = queue = deque((one,))
            begin(threads, self._serve(key, queue))
        else:
            queue.append(one)
        return (yield from one.answer())

    def _serve(self, key: str, queue: deque[_Waiting]) -> Steps[None]:
        while queue:
            batch = [queue.popleft() for _ in range(min(_MOST, len(queue)))]
            try:
                yield from self._together(batch)
            except Exception as error:
                # The database fails or is silent: it does so for those that wait, too. Calls that
                # have an answer keep it.
                for one in [*batch, *queue]:
                    _fail(one, error)
                queue.clear()
        del self._queues[key]

    def _together(self, batch: Sequence[_Waiting]) -> Steps[None]:
        text = self._statements.reserve(len(batch))
        values = [value for one in batch for value in one.values]
        try:
            rows = yield from past_deadlock(lambda: self._database.query("reserve", text, values))
        except Exception as error:
            if _OWN_FAULT.fullmatch(state_of(error) or "") is None:
                raise
            if len(batch) == 1:
                _fail(batch[0], error)
                return
            # Nothing was written: the one at fault fails alone.
            for one in batch:
                yield from self._together([one])
            return
        for one, row in zip(batch, rows):
            if one.wake is not None:
                one.wake(row)


def _fail(one: _Waiting, error: Exception) -> None:
    if one.wake is not None:
        one.wake.fail(error)
