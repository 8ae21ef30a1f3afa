"""Claims that this process has let go of, whether or not the journal could be told."""

from __future__ import annotations

from typing import Sequence

from .._kernel.signals import Signal
from .._kernel.steps import background, quiet, sleep
from .._kernel.task import Steps
from .types import Claims

_FIRST_WAIT_MS = 1_000
_LONGEST_WAIT_MS = 30_000


class ClaimsLetGo:
    """Claims of a journal, but that what was let go is over at once.

    A repeated call would take it for a call that is still at work, and pay beside it. For other
    processes the journal is told again in the background, until the client closes.
    """

    def __init__(self, claims: Claims, let_go: set[str], closing: Signal) -> None:
        """``let_go``: what the journal may not know of yet, for all payers of the wallet here."""
        self._claims = claims
        self._let_go = let_go
        self._closing = closing

    def take(self, ids: Sequence[str]) -> Steps[None]:
        """As the journal's."""
        self._let_go.difference_update(ids)
        yield from self._claims.take(ids)

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        """As the journal's."""
        self._let_go.update(ids)
        try:
            yield from self._tell(ids)
        except Exception:
            yield from background(quiet(self._tell_later(ids)))
            raise

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        """As the journal's."""
        return (yield from self._claims.live(ids)) - self._let_go

    def _tell(self, ids: Sequence[str]) -> Steps[None]:
        yield from self._claims.drop(ids)
        self._let_go.difference_update(ids)

    def _tell_later(self, ids: Sequence[str]) -> Steps[None]:
        wait = _FIRST_WAIT_MS
        while True:
            yield from sleep(wait, self._closing)
            left = [id_ for id_ in ids if id_ in self._let_go]
            if not left:
                return
            yield from quiet(self._tell(left))
            wait = min(wait * 2, _LONGEST_WAIT_MS)
