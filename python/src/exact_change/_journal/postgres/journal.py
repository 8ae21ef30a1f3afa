"""A journal in Postgres. A forked child uses it as a process of its own."""

from __future__ import annotations

import re
import time

from ..._base.json_types import is_integer
from ..._base.options import refuse
from ..._kernel.fork import in_child
from ..._kernel.hosts import threads
from ..._kernel.steps import bounded, call, join, quiet
from ..._kernel.task import Steps, Task, begin
from ..ledger import Ledger
from ..types import Owner
from .attempts import Attempts
from .balances import Balances
from .claims import SharedClaims
from .connection import Query
from .database import Database, Gate, Pool
from .keys import digest
from .locks import SharedLocks
from .session import Session
from .statements import Statements
from .tables import prepare_tables

# The longest timeout that both timers and Postgres take.
_MOST_MS = 2**31 - 1
_ADDRESS = re.compile("postgres(?:ql)?://.+", re.DOTALL)


class Parts:
    """The parts of a journal in one process. They handle the events of its session."""

    def __init__(self, address: str, statements: Statements, timeout_ms: int) -> None:
        channel = f"exact_change_{digest(statements.schema)[:16]}"
        pool = Pool(address)
        self.gate = Gate(self._ready, timeout_ms)
        self.direct = Database(pool, timeout_ms)
        self.database = Database(pool, timeout_ms, self.gate)
        self.statements = statements
        self.claims = SharedClaims(self.database, statements)
        self.locks = SharedLocks(statements, channel)
        self.session = Session(self.database, statements, channel, self)
        self.locks.session = self.claims.session = self.session
        self.balances = Balances(self.database, statements)
        self.attempts = Attempts(self.database, statements, self.claims, self.balances)
        self._prepared: Task[None] | None = None

    def close(self) -> Steps[None]:
        """Waits for the running calls, releases claims and locks, and ends the connections."""
        self.locks.close()
        yield from self.gate.close()
        yield from quiet(self.claims.clear(self.direct))
        yield from self.session.close()
        yield from call(self.direct.pool.close)

    def restore(self, query: Query, holder: str, pid: str) -> None:
        """Takes the locks and claims of an earlier connection again, before other calls run."""
        self.locks.restore(query, pid)
        self.claims.restore(query, holder)

    def notified(self, payload: str) -> None:
        """Handles a notification, in a turn: a lock is free. Only TypeScript delivers events."""
        self.locks.freed(payload)

    def lost(self) -> None:
        """Wakes calls that wait for locks, in a turn, and opens the lost connection again."""
        self.locks.lost()
        self.session.revive()

    def needed(self) -> bool:
        """Returns whether locks or claims need a connection."""
        return self.locks.is_any or self.claims.is_any

    def _ready(self, end: float) -> Steps[None]:
        """Makes the tables if needed, and returns once they exist, or raises ``TimeoutError``."""
        task = self._prepared
        # A failure may pass, so the next call tries again.
        if task is None or task.error is not None:
            # Run it in threads: an event loop may end before other calls need the tables.
            task = self._prepared = begin(threads, prepare_tables(self.direct, self.statements))
        ms = max(0.0, (end - time.monotonic()) * 1000)
        late = TimeoutError("The tables were not there in time.")
        yield from bounded(ms, lambda: late, (), lambda _: join(task))


class PostgresJournal:
    """A journal in Postgres; see :func:`exact_change.postgres_journal`. The first call opens it."""

    def __init__(self, address: object, schema: object, timeout_ms: object) -> None:
        if not isinstance(address, str) or _ADDRESS.fullmatch(address) is None:
            # The error must not show the address, because it holds a password.
            raise refuse(
                "address",
                "must be that of a Postgres database such as "
                '"postgresql://user@localhost/payments".',
            )
        if not is_integer(timeout_ms) or not 1 <= timeout_ms <= _MOST_MS:
            raise refuse("timeout_ms", f"must be whole milliseconds from 1 to {_MOST_MS}.")
        self._options = address, Statements(schema), timeout_ms
        self.renew()
        self._is_closed = False
        in_child(self)

    def renew(self) -> None:
        """Begins anew, in a forked child too: with no connection, claims or locks."""
        self._parts = Parts(*self._options)
        attempts = self._parts.attempts
        self.reserve = attempts.reserve
        self.put = attempts.put
        self.raise_ = attempts.raise_
        self.release = attempts.release
        self.similar = attempts.similar
        self.attempts = attempts.attempts
        self.used = attempts.used

    def coordination(self, owner: Owner) -> PostgresCoordination:
        return PostgresCoordination(self._parts, owner)

    def close(self) -> Steps[None]:
        """Waits for the running calls, releases claims and locks, and ends the connections."""
        if not self._is_closed:
            self._is_closed = True
            yield from self._parts.close()


class PostgresCoordination:
    """The coordination of one owner's payers."""

    def __init__(self, parts: Parts, owner: Owner) -> None:
        self._parts = parts
        self._owner = owner
        self.ledger = Ledger(parts.balances.of(owner))
        self.locks = parts.locks.of(owner)
        self.claims = parts.claims

    def next(self, name: str) -> Steps[int]:
        """Counts up under a name, and returns the new count.

        A counter that was unused for a day is deleted: its name is a blockhash.
        """
        database, statements = self._parts.database, self._parts.statements
        values = [*self._owner, name]
        (row,) = yield from database.query("next", statements["next"], values)
        number = int(row["number"])
        if number == 1:
            yield from database.query("next", statements["forgetCounters"], [])
        return number
