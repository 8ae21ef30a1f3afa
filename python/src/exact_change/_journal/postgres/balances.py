"""The balances of all owners, one row each. Changes to one take their turn."""

from __future__ import annotations

import json
import time
from typing import Callable, Mapping, NamedTuple, Sequence, TypeVar

from ..._base.js import stringify
from ..._kernel.task import Steps
from ..balances import EMPTY, AccountBalance, balance_json, balance_of, changed
from ..ledger import Decide
from ..types import Owner
from .connection import Query
from .database import Database, past_deadlock
from .keys import digest
from .statements import Statements

T = TypeVar("T")
# How long a balance serves that came with something else. It is only looked at: what takes of it
# looks at the row.
_SERVES_SECONDS = 0.5


class _Seen(NamedTuple):
    owner: Owner
    changes: int
    at: float
    books: Mapping[str, str]


class Books:
    """Of one process."""

    def __init__(self, database: Database, statements: Statements) -> None:
        self.database = database
        self.statements = statements
        # Grows with each change, at its begin and at its end.
        self._changes = 0
        self._seen: _Seen | None = None

    def of(self, owner: Owner) -> OwnerBooks:
        """Those of an owner."""
        return OwnerBooks(self, owner)

    def changing(self, work: Callable[[], Steps[T]]) -> Steps[T]:
        """A write that may change balances: none that was read before serves then."""
        self._changes += 1
        try:
            return (yield from work())
        finally:
            self._changes += 1

    @property
    def changes(self) -> int:
        """To be asked before a question that brings balances by the way."""
        return self._changes

    def note(self, owner: Owner, changes: int, books: Mapping[str, str]) -> None:
        """All that an owner has, as they came by the way."""
        self._seen = _Seen(owner, changes, time.monotonic(), books)

    def known(self, owner: Owner) -> Mapping[str, str] | None:
        """The same, while nothing has changed since and it is new."""
        seen = self._seen
        if seen is None or seen.owner != owner or seen.changes != self._changes:
            return None
        return seen.books if time.monotonic() - seen.at < _SERVES_SECONDS else None


class OwnerBooks:
    """Balances of an owner."""

    def __init__(self, books: Books, owner: Owner) -> None:
        self._books = books
        self._owner = owner

    def read(self, account: str) -> Steps[AccountBalance]:
        """A balance."""
        known = self._books.known(self._owner)
        if known is not None:
            return _balance_in(known.get(account))
        text = self._books.statements["readBook"]
        rows = yield from self._books.database.query(
            "read a balance", text, [*self._owner, account]
        )
        return _balance_in(rows[0]["book"] if rows else None)

    def step(self, account: str, decide: Decide[T]) -> Steps[T]:
        """Decides at the balance as it stands."""
        name = [*self._owner, account]
        statements = self._books.statements

        def take(query: Query) -> T:
            rows = query(statements["lockBook"], name)
            if not rows:
                query(statements["makeBook"], [*name, stringify(balance_json(EMPTY))])
                rows = query(statements["lockBook"], name)
            before = _balance_in(rows[0]["book"])
            change, result = decide(before)
            after = before if change is None else changed(before, change)
            if after != before:
                query(statements["writeBook"], [*name, stringify(balance_json(after))])
            return result

        def once() -> Steps[T]:
            key = digest("book", *name)
            return self._books.database.transaction("change a balance", key, take)

        return self._books.changing(lambda: past_deadlock(once))


def _balance_in(book: str | None) -> AccountBalance:
    return EMPTY if book is None else balance_of(json.loads(book))


def books_in(rows: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """The balances among some rows, by account."""
    return {row["account"]: row["book"] for row in rows if "book" in row}
