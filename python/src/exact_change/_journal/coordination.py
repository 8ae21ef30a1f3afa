"""The coordination of the payers of one process, in memory."""

from __future__ import annotations

import os
from typing import Sequence

from .._kernel.task import Steps
from .ledger import Ledger, MemoryBalances
from .locks import MemoryLocks

# Payments without a nonce of their own differ by a count. It starts at random, because processes
# that do not know each other must not use the same counts.
_SPREAD = 500
_MAX_NAMES = 2_048


class MemoryClaims:
    def __init__(self) -> None:
        self._claimed: set[str] = set()

    def take(self, ids: Sequence[str]) -> Steps[None]:
        self._claimed.update(ids)
        yield from ()

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        self._claimed.difference_update(ids)
        yield from ()

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        return self._claimed.intersection(ids)
        yield


class MemoryCoordination:
    """Coordination in memory. ``counts`` holds the last count under each name, oldest first."""

    def __init__(self, counts: dict[str, int]) -> None:
        self.ledger = Ledger(MemoryBalances())
        self.locks = MemoryLocks()
        self.claims = MemoryClaims()
        self._counts = counts

    def next(self, name: str) -> Steps[int]:
        counts = self._counts
        last = counts.get(name)
        if last is None:
            last = int.from_bytes(os.urandom(2), "big") % _SPREAD
            # Names are blockhashes, and about 150 blockhashes are valid at a time, so old names may
            # go.
            while len(counts) >= _MAX_NAMES:
                del counts[next(iter(counts))]
        counts[name] = last + 1
        return last + 1
        yield
