"""Blockhashes of a client's node: callers at the same time share one request."""

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
    # When it was asked for: how long the reply took is not known to be the network's doing.
    at: int
    # For so many milliseconds it is recent.
    recent_ms: float


class BlockhashSource:
    """Each blockhash comes with the last height of the same reply."""

    def __init__(self, rpc: Rpc, runtime: Runtime) -> None:
        self._rpc = rpc
        self._runtime = runtime
        self._cached: _Dated | None = None
        self._pending: Task[_Dated] | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether nothing is fetched if a recent one is asked for."""
        return self._cached is not None and self._is_fresh(self._cached)

    def fresh(
        self, *, min_slot: int | None = None, signal: Signal | None = None
    ) -> Steps[Lifetime]:
        """At most 2 s old: for what needs all of its life."""
        return (yield from self._find(self._is_fresh, min_slot, signal)).value

    def recent(self, *, signal: Signal | None = None) -> Steps[Lifetime]:
        """At most 15 s and 40 slots old, by the pace that the chain was seen to go.

        Beside the caller, a newer one is fetched. A payment settles within seconds, and a
        blockhash lives for 150 blocks.
        """
        found = yield from self._find(self._is_recent, None, signal)
        if self._pending is None and not self._is_fresh(found):
            task = yield from self._request(None)
            yield from background(quiet(join(task)))
        return found.value

    def expire(self, blockhash: str) -> None:
        """The chain was seen to have outlived a blockhash, whatever the clock says."""
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
        # Another that waited may have asked meanwhile: that request began after this call, so
        # that its reply is as new as one of its own.
        shared = self._pending if min_slot is None else None
        if shared is None:
            shared = yield from self._request(min_slot)
        return (yield from join(shared, signal))

    def _request(self, min_slot: int | None) -> Steps[Task[_Dated]]:
        # No signal: it is shared, and one caller giving up must not end it for the others.
        task = yield from start(self._asked(min_slot))
        self._pending = None if task.is_settled else task

        def settle() -> None:
            # Superseded meanwhile by a request for a later slot.
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
    """How long a chain takes for 40 slots shows from two replies.

    After one alone it is not known, nor by a node that has come no further.
    """
    slots = 0 if earlier is None else slot - earlier.value.slot
    if earlier is None or slots <= 0:
        return _FRESH_MS
    return min(_RECENT_MS, max(_FRESH_MS, (at - earlier.at) * _RECENT_SLOTS / slots))
