"""A journal in memory, for one process; it is lost when the process ends."""

from __future__ import annotations

from typing import Sequence

from .._kernel.task import Steps
from .._policy.caps import Cap
from .attempts import copy_of
from .store import AttemptStore
from .types import Attempt, CapBlock, KeyTaken, Owner, State


class MemoryJournal:
    """Keeps attempts in memory. The store yields no effects, so each call is one step."""

    def __init__(self) -> None:
        self._store = AttemptStore()

    def reserve(self, attempt: Attempt, caps: Sequence[Cap]) -> Steps[CapBlock | KeyTaken | None]:
        attempt = copy_of(attempt)
        refusal = self._store.refusal(attempt, caps)
        if refusal is None:
            self._store.keep(attempt)
        return refusal
        yield

    def put(self, attempt: Attempt) -> Steps[None]:
        yield from self.raise_(attempt, ())

    def raise_(self, attempt: Attempt, caps: Sequence[Cap]) -> Steps[CapBlock | None]:
        attempt = copy_of(attempt)
        before = self._store.replacing(attempt, caps)
        if isinstance(before, CapBlock):
            return before
        if before is not None:
            self._store.keep(attempt)
        return None
        yield

    def release(self, id_: str) -> Steps[None]:
        if self._store.releasable(id_) is not None:
            self._store.remove(id_)
        yield from ()

    def similar(
        self, owner: Owner, fingerprint: str, idempotency_key: str | None
    ) -> Steps[list[Attempt]]:
        return self._store.similar(owner, fingerprint, idempotency_key)
        yield

    def attempts(
        self, owner: Owner, *, state: State | None = None, since: int | None = None
    ) -> Steps[list[Attempt]]:
        return [made.attempt for made in self._store.attempts(owner, state, since)]
        yield

    def used(self, owner: Owner, caps: Sequence[Cap], now: int) -> Steps[list[int]]:
        return self._store.used(owner, caps, now)
        yield
