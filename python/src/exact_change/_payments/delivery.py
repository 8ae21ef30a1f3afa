"""Whether the answer to a paid request has reached its caller, as it is put on record.

An equal call is a new purchase if it has, and means the same one if it has not.
"""

from __future__ import annotations

from typing import Callable

from .._events import Emit
from .._journal.registry import OpenPayment
from .._journal.types import Along, Attempt
from .._kernel.hosts import this_host
from .._kernel.signals import Signal, void
from .._kernel.steps import join, quiet
from .._kernel.task import Steps, begin
from .claims import body_claim, delay_next_call, note_dropped, release_claims
from .context import PaymentContext
from .rejection import bounds_of
from .saving import save_attempt


class Delivery:
    """Of one answer. Until its body ends, the claim on that says that its reader may still come."""

    def __init__(
        self, context: PaymentContext, open_: OpenPayment, emit: Emit, caller: Signal | None
    ) -> None:
        self._context = context
        self._open = open_
        self._emit = emit
        self._caller = caller
        self._is_over = False

    def hang_on(self, caller: Signal | None, lost: Callable[[], Steps[None]]) -> Steps[None]:
        """Has an answer count as lost if its caller gives up before it was handed over.

        At once: the caller's next call comes after that.
        """
        host = yield from this_host()
        if caller is not None:
            caller.on_abort(lambda: void(begin(host, lost())))

    def take_back(self) -> Steps[None]:
        """It is on record as delivered, and did not reach its caller after all."""
        context, open_ = self._context, self._open
        open_.attempt = _undelivered(open_.attempt)
        yield from delay_next_call(context, lambda: save_attempt(context, open_, _undelivered))

    def read(self, reader: Signal | None) -> Steps[None]:
        """Its body was read to its end."""
        if not self._is_over:
            yield from self.hang_on(reader, self.take_back)
            yield from self._end(_delivered)

    def lost(self) -> Steps[None]:
        """Its body was not."""
        if not self._is_over:
            yield from self._end(_undelivered)

    def _end(self, change: Callable[[Attempt], Attempt]) -> Steps[None]:
        """The claims end with the write of it."""
        self._is_over = True
        context, open_ = self._context, self._open
        open_.attempt = change(open_.attempt)
        drop = [open_.attempt["id"], body_claim(open_.attempt["id"])]

        def save() -> Steps[None]:
            try:
                yield from save_attempt(context, open_, change, Along(drop=drop))
                note_dropped(context, drop)
                return
            except Exception:
                if change is _delivered:
                    yield from warn_unwritten(open_, self._emit)
            yield from release_claims(context, open_, drop, None)

        noted = yield from delay_next_call(context, save)
        # A reader that has given up is not kept waiting.
        yield from quiet(join(noted, self._caller))


def warn_unwritten(open_: OpenPayment, emit: Emit) -> Steps[None]:
    """Tells that the record of a payment is older than what became of it."""
    signature = bounds_of(open_)["payer_signature"]
    yield from emit(
        "warning", message=f"The journal could not be written after payment {signature}."
    )


def _delivered(attempt: Attempt) -> Attempt:
    return {**attempt, "delivered": True}


def _undelivered(attempt: Attempt) -> Attempt:
    return {**attempt, "delivered": False}
