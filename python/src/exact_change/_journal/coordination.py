"""What the payers of one process share, in memory."""

from __future__ import annotations

import os
from typing import Sequence

from .._kernel.task import Steps
from .ledger import Ledger, MemoryBalances
from .locks import MemoryLocks

# Payments without a nonce of their own differ by a number. Counting from a random start tells
# processes apart that know nothing of each other.
_SPREAD = 500
_MAX_NAMES = 2_048


class MemoryClaims:
    """Claims of one process."""

    def __init__(self) -> None:
        self._claimed: set[str] = set()

    def take(self, ids: Sequence[str]) -> Steps[None]:
        """Claims attempts."""
        self._claimed.update(ids)
        yield from ()

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        """Lets go of them."""
        self._claimed.difference_update(ids)
        yield from ()

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        """Those that are claimed."""
        return self._claimed.intersection(ids)
        yield


class MemoryCoordination:
    """In memory. ``counts``: how far is counted under each name, oldest first."""

    def __init__(self, counts: dict[str, int]) -> None:
        self.ledger = Ledger(MemoryBalances())
        self.locks = MemoryLocks()
        self.claims = MemoryClaims()
        self._counts = counts

    def next(self, name: str) -> Steps[int]:
        """Counts up under a name."""
        counts = self._counts
        last = counts.get(name)
        if last is None:
            last = int.from_bytes(os.urandom(2), "big") % _SPREAD
            # Names are blockhashes: each was valid when it came, and a chain has some 150 valid
            # ones at a time.
            while len(counts) >= _MAX_NAMES:
                del counts[next(iter(counts))]
        counts[name] = last + 1
        return last + 1
        yield
