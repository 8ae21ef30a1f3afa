"""Sends a transaction again and again until the chain has decided."""

from __future__ import annotations

from typing import Callable, NamedTuple

from typing_extensions import Literal

from .._base.runtime import Runtime, stopwatch
from .._kernel.signals import Signal, follow
from .._kernel.steps import background, ensure, quiet, sleep
from .._kernel.task import Steps
from .message import first_signature
from .rpc.rpc import Rpc
from .rpc.types import SignatureStatus


class Landing(NamedTuple):
    """The fate of a transaction.

    ``expired``: it did not land and never will. ``unknown``: the caller aborted, or the node
    stopped answering, before the chain decided.
    """

    outcome: Literal["confirmed", "failed", "expired", "unknown"]
    slot: int = 0
    error: str = ""
    # The transaction's id, if the search did not start from the id.
    signature: str | None = None


UNKNOWN = Landing("unknown")
# A transaction that has not landed is sent again after this time.
_RESEND_MS = 2_000
_POLL_MS = 500
# Most transactions confirm within seconds, so the first polls come faster.
_QUICK_POLL_MS = 200
_QUICK_POLLS = 10
# After so long without any answer from the node, the wait ends as unknown.
_SILENCE_MS = 60_000
# A blockhash lives for a minute or two, and finality comes some seconds later. A chain that takes
# longer has stopped.
_LIMIT_MS = 300_000
# Searches for the fate when the blockhash is over, or when a node reports a failure. `unknown`
# while the fate is not certain.
LookBack = Callable[[Signal], Steps[Landing]]


def land_transaction(
    rpc: Rpc,
    runtime: Runtime,
    data: bytes,
    last_valid_block_height: int,
    look_back: LookBack,
    signal: Signal,
) -> Steps[Landing]:
    """Sends signed wire bytes, always the same bytes, until the chain has decided."""
    # Aborts the calls that are still running when the fate is known.
    over = follow(signal)

    def end() -> Steps[None]:
        over.end()
        over.signal.abort()
        yield from ()

    watch = _Watch(rpc, runtime, data, last_valid_block_height, look_back, over.signal)
    return (yield from ensure(watch.run(), end))


class _Watch:
    def __init__(
        self,
        rpc: Rpc,
        runtime: Runtime,
        data: bytes,
        last_valid: int,
        look_back: LookBack,
        signal: Signal,
    ) -> None:
        self._rpc = rpc
        self._data = data
        self._signature = first_signature(data)
        self._last_valid = last_valid
        self._look_back = look_back
        self._signal = signal
        self._elapsed = stopwatch(runtime)
        self._answered_at = 0
        self._final_height = 0

    def run(self) -> Steps[Landing]:
        sent_at: float = float("-inf")
        polls = 0
        while self._keeps_polling():
            if not self._is_past() and self._elapsed() - sent_at >= _RESEND_MS:
                # Both calls run in the background: the polls must go on if the node hangs on a
                # call. A failed first send is ignored, because the node may have the transaction.
                if polls:
                    yield from background(quiet(self._check_height()))
                sent_at = self._elapsed()
                yield from background(quiet(self._rpc.send(self._data, signal=self._signal)))
            polls += 1
            wait = _QUICK_POLL_MS if polls <= _QUICK_POLLS else _POLL_MS
            yield from quiet(sleep(wait, self._signal))
            if self._signal.aborted:
                break
            landing = None
            if not self._is_past():
                landing = _landing_shown_by((yield from quiet(self._status())))
            # A failure frees the payment's reservation, so one node's answer does not suffice.
            if self._is_past() or (landing is not None and landing.outcome == "failed"):
                landing = yield from quiet(self._search())
            if landing is not None and landing.outcome != "unknown":
                return landing
        return UNKNOWN

    def _keeps_polling(self) -> bool:
        """Whether the node still answers, and the chain may still decide."""
        elapsed = self._elapsed()
        return (
            not self._signal.aborted
            and elapsed - self._answered_at < _SILENCE_MS
            and elapsed < _LIMIT_MS
        )

    def _is_past(self) -> bool:
        """Whether a transaction with this blockhash can no longer land."""
        return self._final_height > self._last_valid

    def _status(self) -> Steps[SignatureStatus | None]:
        (found,) = yield from self._rpc.statuses([self._signature], signal=self._signal)
        self._answered_at = self._elapsed()
        return found

    def _search(self) -> Steps[Landing]:
        landing = yield from self._look_back(self._signal)
        self._answered_at = self._elapsed()
        return landing

    def _check_height(self) -> Steps[None]:
        tip = yield from self._rpc.tip("finalized", signal=self._signal)
        self._final_height = max(self._final_height, tip.height)


def _landing_shown_by(status: SignatureStatus | None) -> Landing | None:
    """Returns the fate that a node's status shows; None if the chain has not decided."""
    if status is None or status.commitment == "processed":
        return None
    if status.error is None:
        return Landing("confirmed", status.slot)
    return Landing("failed", status.slot, status.error)
