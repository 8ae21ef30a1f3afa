"""Fetches blockhashes of a client's node; callers at the same time share one request."""

from __future__ import annotations

from typing import Callable, NamedTuple

from ..._base.runtime import Runtime, since_then
from ..._kernel.signals import Signal, check
from ..._kernel.steps import background, join, quiet, start
from ..._kernel.task import Steps, Task
from ..types import Lifetime
from .rpc import Rpc

_FRESH_MS = 2_000
_RECENT_MS = 15_000
_RECENT_SLOTS = 40


class _Dated(NamedTuple):
    value: Lifetime
    # When it was asked for, because the node may have read it early and replied late.
    at: int
    # Milliseconds for which it is recent.
    recent_ms: float


class BlockhashSource:
    """Blockhashes, each with the last valid block height of the same reply."""

    def __init__(self, rpc: Rpc, runtime: Runtime) -> None:
        self._rpc = rpc
        self._runtime = runtime
        self._cached: _Dated | None = None
        self._pending: Task[_Dated] | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether :meth:`recent` would fetch nothing."""
        return self._cached is not None and self._is_fresh(self._cached)

    def fresh(
        self, *, min_slot: int | None = None, signal: Signal | None = None
    ) -> Steps[Lifetime]:
        """Returns a blockhash that is at most 2 s old, to use its whole life."""
        return (yield from self._find(self._is_fresh, min_slot, signal)).value

    def recent(self, *, signal: Signal | None = None) -> Steps[Lifetime]:
        """Returns a blockhash that is at most 15 s old, and 40 slots at the chain's last pace.

        Fetches a newer blockhash in the background. A payment settles within seconds, and a
        blockhash lives for 150 blocks.
        """
        found = yield from self._find(self._is_recent, None, signal)
        if self._pending is None and not self._is_fresh(found):
            task = yield from self._request(None)
            yield from background(quiet(join(task)))
        return found.value

    def expire(self, blockhash: str) -> None:
        """Drops a blockhash that the chain has outlived, whatever the clock says."""
        if self._cached is not None and self._cached.value.blockhash == blockhash:
            self._cached = None

    def _is_fresh(self, dated: _Dated) -> bool:
        return since_then(self._runtime, dated.at) < _FRESH_MS

    def _is_recent(self, dated: _Dated) -> bool:
        return since_then(self._runtime, dated.at) < dated.recent_ms

    def _find(
        self, is_new: Callable[[_Dated], bool], min_slot: int | None, signal: Signal | None
    ) -> Steps[_Dated]:
        check(signal)

        def serves(dated: _Dated) -> bool:
            return is_new(dated) and dated.value.slot >= (min_slot or 0)

        if self._cached is not None and serves(self._cached):
            return self._cached
        if self._pending is not None:
            joined = yield from join(self._pending, signal)
            if serves(joined):
                return joined
        # Another waiting caller may have sent a request meanwhile. It began after this call, so its
        # reply is as new as the reply to an own request.
        shared = self._pending if min_slot is None else None
        if shared is None:
            shared = yield from self._request(min_slot)
        return (yield from join(shared, signal))

    def _request(self, min_slot: int | None) -> Steps[Task[_Dated]]:
        # No signal: callers share the request, and a caller that gives up must not end it.
        task = yield from start(self._asked(min_slot))
        self._pending = None if task.is_settled else task

        def settle() -> None:
            # A request for a later slot may have replaced this request.
            if self._pending is task:
                self._pending = None
                if task.error is None:
                    self._cached = task.result()

        task.then(settle)
        return task

    def _asked(self, min_slot: int | None) -> Steps[_Dated]:
        at = self._runtime.now()
        value = yield from self._rpc.latest_blockhash(min_slot)
        return _Dated(value, at, _recent_for(value.slot, at, self._cached))


def _recent_for(slot: int, at: int, earlier: _Dated | None) -> float:
    """Returns the milliseconds for which a blockhash is recent: the chain's time for 40 slots.

    Two replies with different slots show this time; until then it is the least.
    """
    slots = 0 if earlier is None else slot - earlier.value.slot
    if earlier is None or slots <= 0:
        return _FRESH_MS
    return min(_RECENT_MS, max(_FRESH_MS, (at - earlier.at) * _RECENT_SLOTS / slots))
