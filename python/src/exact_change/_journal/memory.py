"""A journal in memory: right for one process, forgotten when it ends."""

from __future__ import annotations

from typing import Sequence

from .._kernel.task import Steps
from .._policy.caps import Cap
from .store import AttemptStore
from .types import Attempt, CapBlock, KeyTaken, Owner, State


class MemoryJournal:
    """In memory."""

    def __init__(self) -> None:
        self._store = AttemptStore()

    def reserve(self, attempt: Attempt, caps: Sequence[Cap]) -> Steps[CapBlock | KeyTaken | None]:
        return self._store.reserve(attempt, caps)
        yield

    def put(self, attempt: Attempt) -> Steps[None]:
        self._store.put(attempt)
        yield from ()

    def raise_(self, attempt: Attempt, caps: Sequence[Cap]) -> Steps[CapBlock | None]:
        done = self._store.put(attempt, caps)
        return done if isinstance(done, CapBlock) else None
        yield

    def release(self, id_: str) -> Steps[None]:
        self._store.release(id_)
        yield from ()

    def similar(
        self, owner: Owner, fingerprint: str, idempotency_key: str | None
    ) -> Steps[list[Attempt]]:
        return self._store.similar(owner, fingerprint, idempotency_key)
        yield

    def attempts(
        self, owner: Owner, *, state: State | None = None, since: int | None = None
    ) -> Steps[list[Attempt]]:
        return self._store.attempts(owner, state, since)
        yield

    def used(self, owner: Owner, caps: Sequence[Cap], now: int) -> Steps[list[int]]:
        return self._store.used(owner, caps, now)
        yield

    def close(self) -> Steps[None]:
        yield from ()
