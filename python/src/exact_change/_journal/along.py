"""A journal of one process that makes the changes along with a write in its coordination."""

from __future__ import annotations

from typing import Callable, Sequence, TypeVar

from .._kernel.task import Steps
from .._policy.caps import Cap
from .attempts import is_made
from .coordination import MemoryCoordination
from .memory import MemoryJournal
from .types import ALONE, Along, Attempt, Hold, Reserved

T = TypeVar("T")


class AlongMemory:
    """Makes the changes along right before the write or after it; nothing waits in between."""

    def __init__(self, journal: MemoryJournal, shared: MemoryCoordination) -> None:
        self._journal = journal
        self._shared = shared
        self.raise_ = journal.raise_
        self.similar = journal.similar
        self.attempts = journal.attempts
        self.used = journal.used

    def reserve(
        self,
        attempt: Attempt,
        caps: Sequence[Cap],
        along: Along = ALONE,
        hold: Hold | None = None,
    ) -> Steps[Reserved]:
        id_, shared = attempt["id"], self._shared

        def reserve() -> Steps[Reserved]:
            refused = yield from self._journal.reserve(attempt, caps)
            if refused is not None or hold is None or shared.locks.is_held(hold.unless):
                return refused
            amount = int(attempt["amount"])
            return (yield from shared.ledger.take(hold.account, id_, amount, hold.fresh))

        return self._write(id_, along, reserve, is_made)

    def put(self, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
        return self._write(attempt["id"], along, lambda: self._journal.put(attempt), _always)

    def release(self, id_: str, along: Along = ALONE) -> Steps[None]:
        return self._write(id_, along, lambda: self._journal.release(id_), _always)

    def _write(
        self, id_: str, along: Along, work: Callable[[], Steps[T]], is_done: Callable[[T], bool]
    ) -> Steps[T]:
        ledger, claims = self._shared.ledger, self._shared.claims
        if along.claim:
            yield from claims.take(along.claim)
        # End holds before the write: to end one twice is harmless, but a hold that never ends would
        # keep its tokens for ever.
        if along.spend is not None:
            account, slot = along.spend
            yield from ledger.spend(account, id_, slot)
        for account in along.free:
            yield from ledger.release(account, id_)
        result = yield from work()
        dropped = along.drop if is_done(result) else along.claim
        if dropped:
            yield from claims.drop(dropped)
        return result


def _always(_result: object) -> bool:
    return True
