"""Records whether the answer to a paid request has reached its caller.

If it has, an equal call is a new purchase. If it has not, an equal call means the same purchase.
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
from .claims import body_claim, delay_next_call, forget_claims, release_claims
from .context import PaymentContext
from .rejection import bounds_of
from .saving import save_attempt


class Delivery:
    """The delivery of one answer. Until its body ends, a claim shows that it may still be read."""

    def __init__(
        self, context: PaymentContext, open_: OpenPayment, emit: Emit, caller: Signal | None
    ) -> None:
        self._context = context
        self._open = open_
        self._emit = emit
        self._caller = caller
        self._is_over = False

    def hang_on(self, caller: Signal | None, lost: Callable[[], Steps[None]]) -> Steps[None]:
        """Calls ``lost`` if the caller gives up before it has the answer.

        The call starts at once, so that the caller's next call comes after it.
        """
        host = yield from this_host()
        if caller is not None:
            caller.on_abort(lambda: void(begin(host, lost())))

    def take_back(self) -> Steps[None]:
        """Corrects a record that says delivered if the answer did not reach the caller."""
        context, open_ = self._context, self._open
        open_.is_delivered_here, open_.is_shared, open_.is_taken_back = False, True, True
        open_.attempt = _undelivered(open_.attempt)

        def save() -> Steps[None]:
            yield from save_attempt(context, open_, _undelivered)
            open_.is_taken_back = False

        yield from delay_next_call(context, save)

    def given_up(self) -> Steps[None]:
        """Records that the answer did not reach the caller, whether its body was read or not."""
        return self.take_back() if self._is_over else self.lost()

    def read(self, reader: Signal | None) -> Steps[None]:
        """Records that the body was read to its end."""
        if self._is_over:
            return
        # The reader may have been interrupted before this began.
        if reader is not None and reader.aborted:
            yield from self._end(_undelivered)
            return
        yield from self.hang_on(reader, self.take_back)
        delivering, take_back = self._context.wallet.delivering, self.take_back
        host = delivering[take_back] = yield from this_host()
        yield from self._end(_delivered)
        # In the turn of the loop in which the reader goes on. If the loop closes before, the next
        # call takes the delivery back.
        host.outside(lambda: void(delivering.pop(take_back, None)))

    def lost(self) -> Steps[None]:
        """Records that the body was not read to its end."""
        if not self._is_over:
            yield from self._end(_undelivered)

    def _end(self, change: Callable[[Attempt], Attempt]) -> Steps[None]:
        """Writes the change, and drops the claims in the same write."""
        self._is_over = True
        context, open_ = self._context, self._open
        open_.is_delivered_here = change is _delivered
        open_.is_shared |= not open_.is_delivered_here
        open_.attempt = change(open_.attempt)
        drop = [open_.attempt["id"], body_claim(open_.attempt["id"])]

        def save() -> Steps[None]:
            try:
                yield from save_attempt(context, open_, change, Along(drop=drop))
                forget_claims(context, drop)
                return
            except Exception:
                if change is _delivered:
                    yield from warn_unwritten(open_, self._emit)
            yield from release_claims(context, open_, drop, None)

        saving = yield from delay_next_call(context, save)
        # A caller that has given up does not wait for the write.
        yield from quiet(join(saving, self._caller))


def warn_unwritten(open_: OpenPayment, emit: Emit) -> Steps[None]:
    """Emits a warning that the journal does not have the latest state of a payment."""
    signature = bounds_of(open_)["payer_signature"]
    yield from emit(
        "warning", message=f"The journal could not be written after payment {signature}."
    )


def _delivered(attempt: Attempt) -> Attempt:
    return {**attempt, "delivered": True}


def _undelivered(attempt: Attempt) -> Attempt:
    return {**attempt, "delivered": False}
