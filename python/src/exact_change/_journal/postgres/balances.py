"""The balances of all owners, one row for each account. Changes of a row run one by one."""

from __future__ import annotations

import json
import time
from typing import Callable, Mapping, NamedTuple, Sequence, TypeVar

from ..._base.js import stringify
from ..._kernel.task import Steps
from ..balances import EMPTY, AccountBalance, balance_json, balance_of, changed
from ..ledger import Decide
from ..states import OPEN_STATES
from ..types import Owner
from .connection import Query
from .database import Database
from .keys import digest
from .statements import Statements

T = TypeVar("T")
# How long a balance that came with another query serves reads. Only reads use it: a step that
# changes the balance reads the row.
_SERVES_SECONDS = 0.5


class _Seen(NamedTuple):
    owner: Owner
    changes: int
    at: float
    balances: Mapping[str, str]


class Balances:
    """The balances of all owners, as one process reads and changes them."""

    def __init__(self, database: Database, statements: Statements) -> None:
        self.database = database
        self.statements = statements
        # Counts the begins and ends of changes.
        self._changes = 0
        self._seen: _Seen | None = None

    def of(self, owner: Owner) -> OwnerBalances:
        return OwnerBalances(self, owner)

    def changing(self, work: Callable[[], Steps[T]]) -> Steps[T]:
        """Runs a write that may change balances: balances that were read before serve no more."""
        self._changes += 1
        try:
            return (yield from work())
        finally:
            self._changes += 1

    @property
    def changes(self) -> int:
        """The count of changes. Read it before a query that also returns balances."""
        return self._changes

    def note(self, owner: Owner, changes: int, balances: Mapping[str, str]) -> None:
        """Keeps all balances of an owner for reads. ``changes`` is the count before the query."""
        self._seen = _Seen(owner, changes, time.monotonic(), balances)

    def known(self, owner: Owner) -> Mapping[str, str] | None:
        """Returns the kept balances of an owner; None if they are old or may have changed."""
        seen = self._seen
        if seen is None or seen.owner != owner or seen.changes != self._changes:
            return None
        return seen.balances if time.monotonic() - seen.at < _SERVES_SECONDS else None


class OwnerBalances:
    def __init__(self, balances: Balances, owner: Owner) -> None:
        self._balances = balances
        self._owner = owner

    def read(self, account: str) -> Steps[AccountBalance]:
        known = self._balances.known(self._owner)
        if known is not None:
            return _balance_in(known.get(account))
        text = self._balances.statements["readBook"]
        rows = yield from self._balances.database.query(
            "read a balance", text, [*self._owner, account]
        )
        return _balance_in(rows[0]["book"] if rows else None)

    def step(
        self, account: str, decide: Decide[T], *, of: str | None = None, is_on_record: bool = False
    ) -> Steps[T]:
        name = [*self._owner, account]
        statements = self._balances.statements

        def take(query: Query) -> T:
            # Lock the attempt before the balance, in the order in which a put locks them.
            found = [] if of is None else query(statements["standing"], [of])
            ended = _has_ended(found) if found else is_on_record
            rows = query(statements["lockBook"], name)
            if not rows:
                query(statements["makeBook"], [*name, stringify(balance_json(EMPTY))])
                rows = query(statements["lockBook"], name)
            before = _balance_in(rows[0]["book"])
            change, result = decide(EMPTY if ended else before)
            after = before if change is None or ended else changed(before, change)
            if after != before:
                query(statements["writeBook"], [*name, stringify(balance_json(after))])
            return result

        def change_balance() -> Steps[T]:
            key = digest("book", *name)
            return self._balances.database.transaction("change a balance", key, take)

        return self._balances.changing(change_balance)


def _has_ended(rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether an attempt that is on record has ended."""
    return json.loads(rows[0]["record"])["state"] not in OPEN_STATES


def _balance_in(book: str | None) -> AccountBalance:
    return EMPTY if book is None else balance_of(json.loads(book))


def balances_in(rows: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """Returns the balances among some rows, by account."""
    return {row["account"]: row["book"] for row in rows if "book" in row}
