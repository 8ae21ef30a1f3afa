"""Takes up the attempts that earlier processes left."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from ..._journal.registry import OpenPayment
from ..._journal.types import Along, Attempt, SignedPayment
from ..._kernel.steps import all_of, background, both, join, quiet, sleep, start
from ..._kernel.task import Steps
from ..._receipt import FreedReceipt, Receipt
from ...errors import ExactChangeError
from ..context import PaymentContext
from ..saving import last_write_ended
from .changes import note_freed, note_resumed, take_changes
from .earlier_errors import as_uncertain
from .forgotten import is_forgotten
from .monitor import decide_payment, follow_in_background, is_decided, open_payment_of
from .open_swaps import decided_outcome
from .orphans import (
    end_decided,
    end_unpaid,
    orphaned_attempts,
    put_abandoned,
    release_orphans,
)
from .sent import sent_payment
from .swap_outcome import read_after

_FIRST_WAIT_MS = 1_000
_LONGEST_WAIT_MS = 30_000


class _Unfinished(NamedTuple):
    """The attempts that the chain must decide about."""

    # Signed payments, each with a hold on its tokens.
    open: Sequence[OpenPayment]
    # Attempts with a swap that may still land.
    abandoned: Sequence[Attempt]


def resume_once(context: PaymentContext) -> Steps[None]:
    """Takes up the attempts of earlier processes once, before a context's first payment.

    Signed payments hold their tokens again; orphaned reservations are freed.
    """
    recovery = context.recovery
    work = recovery.started
    if work is None:
        work = recovery.started = yield from start(_take_up(context))
    try:
        yield from join(work)
    except Exception:
        # The next call tries again.
        if recovery.started is work:
            recovery.started = None
        raise


def resume_with_next_call(context: PaymentContext) -> None:
    """Makes the next payment look for orphaned attempts again."""
    context.recovery.started = None


def free_orphaned_budget(context: PaymentContext) -> Steps[bool]:
    """Frees the budget and the tokens of orphaned attempts; returns whether there were any."""
    freed, abandoned = yield from release_orphans(context)
    for attempt in abandoned:
        yield from background(_wait_for_swap(context, attempt))
    return freed > 0


def resume(context: PaymentContext) -> Steps[list[Receipt | FreedReceipt]]:
    """Asks the chain about each signed payment, and frees orphaned reservations.

    Undecided payments are followed in the background. Returns the attempts taken up so far that
    were decided or freed since the last call. Raises if the journal or every question to the chain
    failed, or if the client closes, with uncertain funds.
    """
    try:
        return (yield from _resume(context))
    except ExactChangeError as raised:
        error = raised
    raise as_uncertain(error, "Payments may be open, and stay on record: resume again.")


def _resume(context: PaymentContext) -> Steps[list[Receipt | FreedReceipt]]:
    unfinished = yield from _collect(context)
    # Ask about all payments at the same time, so that their status requests share batches.
    outcomes = yield from all_of([_decide(context, open_) for open_ in unfinished.open])
    failures = [failure for failure in outcomes if failure is not None]
    for attempt in unfinished.abandoned:
        if not (yield from quiet(_end_if_decided(context, attempt), False)):
            yield from background(_wait_for_swap(context, attempt))
    if failures and len(failures) == len(outcomes):
        raise failures[0]
    return (yield from take_changes(context))


def _decide(context: PaymentContext, open_: OpenPayment) -> Steps[Exception | None]:
    """Asks the chain about a payment, and follows it if it is undecided.

    Returns the error instead of raising it, so that it does not end the other questions.
    """
    emit = context.events.emitter(open_.attempt["id"])
    failure: Exception | None = None
    is_decided = False
    try:
        is_decided = yield from decide_payment(context, open_, emit, context.closing)
    except Exception as error:
        failure = error
    if not is_decided:
        yield from follow_in_background(context, open_, emit)
    return failure


def abandon(context: PaymentContext, attempt: Attempt, along: Along) -> Steps[None]:
    """Frees the budget and the key of an attempt that signed no payment.

    Its swap stays on record until it can no longer land.
    """
    abandoned = yield from put_abandoned(context, attempt, along)
    yield from background(_wait_for_swap(context, abandoned))


def _take_up(context: PaymentContext) -> Steps[None]:
    unfinished = yield from _collect(context)
    for open_ in unfinished.open:
        emit = context.events.emitter(open_.attempt["id"])
        yield from follow_in_background(context, open_, emit)
    for attempt in unfinished.abandoned:
        yield from background(_wait_for_swap(context, attempt))


def _collect(context: PaymentContext) -> Steps[_Unfinished]:
    """Frees orphaned reservations, and returns signed payments and swaps of earlier processes."""
    signed, abandoned = yield from both(
        orphaned_attempts(context, "signed"), orphaned_attempts(context, "abandoned")
    )
    # All at once: calls wait for this, and a node that does not answer must cost them one timeout.
    open_ = yield from all_of(
        [
            _held_payment_of(context, attempt, attempt["payment"])
            for attempt in signed
            if "payment" in attempt and "receipt" in attempt
        ]
    )
    for open_payment in open_:
        note_resumed(context, open_payment.attempt)
    for attempt in abandoned:
        is_new = attempt["id"] not in context.recovery.open
        note_resumed(context, attempt)
        # An earlier run freed it, and this run's caller must know too that its swap may still land.
        if is_new:
            note_freed(context, attempt, "abandoned")
    freed = yield from release_orphans(context)
    return _Unfinished(open_, [*abandoned, *freed.abandoned])


def _held_payment_of(
    context: PaymentContext, attempt: Attempt, payment: SignedPayment
) -> Steps[OpenPayment]:
    """Returns the record of an open payment, with a hold on its tokens."""
    ledger, source, id_ = context.ledger, payment["source"], attempt["id"]
    sent = sent_payment(attempt, payment, None)
    # A payment that no node remembers is never decided, and it can no longer land.
    if (yield from is_forgotten(context, attempt["at"], sent)):
        yield from ledger.release(source, id_)
        yield from ledger.forget(source)
        return open_payment_of(context, attempt)
    yield from ledger.hold(source, id_, int(attempt["amount"]))
    open_ = open_payment_of(context, attempt)
    # The monitor of the payment may have ended its hold a moment before this hold was taken.
    yield from last_write_ended(open_)
    if is_decided(open_):
        yield from ledger.release(source, id_)
    return open_


def _wait_for_swap(context: PaymentContext, attempt: Attempt) -> Steps[None]:
    """Waits until a swap is decided and then ends its attempt, or until the client closes.

    Never raises.
    """
    id_, awaited = attempt["id"], context.recovery.awaited_swaps
    if id_ in awaited:
        return
    awaited.add(id_)
    wait = _FIRST_WAIT_MS
    while not context.closing.aborted:
        yield from quiet(sleep(wait, context.closing))
        # If no node or journal answers, the swap stays undecided, so ask again.
        if context.closing.aborted or (yield from quiet(_end_if_decided(context, attempt), False)):
            break
        wait = min(wait * 2, _LONGEST_WAIT_MS)
    awaited.discard(id_)


def _end_if_decided(context: PaymentContext, attempt: Attempt) -> Steps[bool]:
    """Ends an unpaid attempt if its swap is decided; returns whether it did."""
    swap = attempt.get("swap")
    if swap is None:
        yield from end_unpaid(context, attempt)
        return True
    outcome = swap.get("outcome")
    if outcome is None:
        outcome = yield from decided_outcome(context, attempt["at"], swap)
    if outcome is None:
        return False
    yield from read_after(context, swap)
    yield from end_decided(context, attempt, outcome)
    return True
