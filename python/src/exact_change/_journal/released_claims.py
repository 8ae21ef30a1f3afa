"""Claims that this process released, whether or not the journal could be told."""

from __future__ import annotations

from typing import Any, Callable, Dict, Sequence

from .._kernel.hosts import threads
from .._kernel.steps import join, settled, sleep
from .._kernel.task import Steps, Task, begin
from ..errors import ExactChangeError
from .types import Claims

_FIRST_WAIT_MS = 1_000
_LONGEST_WAIT_MS = 30_000


def until_told(tell: Callable[[], Steps[Any]]) -> Steps[None]:
    """Tells a journal in growing waits, until it takes the call or is closed."""
    wait = _FIRST_WAIT_MS
    while True:
        yield from sleep(wait)
        try:
            yield from tell()
            return
        except Exception as error:
            # A journal that was closed has released its claims.
            if isinstance(error, ExactChangeError) and error.retry == "never":
                return
        wait = min(wait * 2, _LONGEST_WAIT_MS)


def soon_told(tell: Callable[[], Steps[Any]]) -> Steps[None]:
    """Tells a journal at once, or in growing waits if that fails."""
    try:
        yield from tell()
    except Exception:
        yield from until_told(tell)


class Drop:
    """A release of claims that the journal may not know yet."""

    # The task that tells the journal of the release, while it runs.
    telling: Task[Any] | None = None


# Claims that this process released, each with its latest release, for all payers of a wallet.
ReleasedClaims = Dict[str, Drop]


def finish_releases(released: ReleasedClaims, ids: Sequence[str]) -> Steps[None]:
    """Waits for pending releases, because a release that lands later would end the new claim."""
    drops = [released.pop(id_) for id_ in ids if id_ in released]
    for telling in {drop.telling for drop in drops}:
        if telling is not None:
            yield from settled(telling)


class ClaimsWithReleases:
    """Wraps the claims of a journal: a claim that this process released is over at once.

    Otherwise a repeated call would take it for a call still at work, and pay beside it. The journal
    is told again in the background, for other processes.
    """

    def __init__(self, claims: Claims, released: ReleasedClaims) -> None:
        self._claims = claims
        self._released = released

    def take(self, ids: Sequence[str]) -> Steps[None]:
        """Claims ids as the journal does, after their pending releases."""
        yield from finish_releases(self._released, ids)
        yield from self._claims.take(ids)

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        """Releases ids at once in this process, and in the journal as soon as it can be told."""
        drop = Drop()
        self._released.update(dict.fromkeys(ids, drop))
        try:
            yield from self._tell(ids, drop)
        except Exception:
            # In threads: the client and its event loop may end long before this process, whose
            # claims would keep other processes waiting.
            begin(threads, self._tell_later(ids, drop))
            raise

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        """Returns the ids that the journal has as claimed and that were not released here."""
        return (yield from self._claims.live(ids)) - self._released.keys()

    def _untold(self, ids: Sequence[str], drop: Drop) -> list[str]:
        # An id that was claimed and released again meanwhile belongs to a newer release.
        return [id_ for id_ in ids if self._released.get(id_) is drop]

    def _tell(self, ids: Sequence[str], drop: Drop) -> Steps[None]:
        # Run it in threads: other calls wait for it, and an event loop may stand still.
        drop.telling = begin(threads, self._claims.drop(ids))
        yield from join(drop.telling)
        for id_ in self._untold(ids, drop):
            self._released.pop(id_, None)

    def _tell_later(self, ids: Sequence[str], drop: Drop) -> Steps[None]:
        def tell() -> Steps[None]:
            left = self._untold(ids, drop)
            if left:
                yield from self._tell(left, drop)

        return until_told(tell)
