"""Journals of each kind, opened by a test."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

import pytest

from exact_change import DurableJournal
from exact_change._journal.along import AlongMemory
from exact_change._journal.coordination import MemoryCoordination
from exact_change._journal.memory import MemoryJournal
from exact_change._journal.types import (
    Coordination,
    Journal,
)
from exact_change._kernel.hosts import threads
from exact_change._kernel.task import Steps
from exact_change._policy.caps import Cap

from .buyer import journal_of
from .holder import OWNER

T = TypeVar("T")
DAY_MS = 86_400_000
NOW = 1_800_000_000_000
DURABLE = ("file", "Postgres")


# The sessions with advisory locks in this database: those of other tests may end later.
LOCK_HOLDERS = """select pid::text from pg_locks where locktype = 'advisory' and database =
    (select oid from pg_database where datname = current_database()) order by 1"""


def hurry(patch: pytest.MonkeyPatch, journal: Any, ms: int) -> None:
    """Gives each further call of a journal in Postgres so many milliseconds."""
    patch.setattr(journal._parts.database, "timeout_ms", ms)


class Opened:
    """An open journal: in memory, or durable at a place."""

    def __init__(self, place: dict[str, str] | None) -> None:
        self.place = place
        self.durable: list[DurableJournal] = []
        self.coordination: Coordination
        self.journal: Journal
        if place is None:
            self.coordination = MemoryCoordination({})
            self.journal = AlongMemory(MemoryJournal(), self.coordination)
        else:
            self.journal, self.coordination = self.again()

    def again(self) -> tuple[Journal, Coordination]:
        """Opens the same journal again, as another process does."""
        assert self.place is not None
        durable = journal_of(self.place)
        self.durable.append(durable)
        return durable.shared, durable.shared.coordination(OWNER)

    def close(self) -> None:
        for journal in self.durable:
            journal.close()

    def all(self) -> list[tuple[str, str]]:
        """Returns id and state of each recorded attempt, in order."""
        listed = run(self.journal.attempts(OWNER))
        return [(attempt["id"], attempt["state"]) for attempt in listed]


Open = Callable[[str], Opened]


def run(steps: Steps[T]) -> T:
    return threads.run(steps)


def day_cap(limit: int, **more: Any) -> Cap:
    return Cap("maxPerDay", "USD", limit, DAY_MS, **more)


every = pytest.mark.parametrize("kind", ("memory", *DURABLE))
durable = pytest.mark.parametrize("kind", DURABLE)
