"""Deals with earlier attempts at the same request.

It does not look at the new terms, because the seller controls them.
"""

from __future__ import annotations

from typing import Callable, Sequence, TypeVar

from .._events import Emit
from .._journal.registry import OpenPayment
from .._kernel.hosts import this_host
from .._kernel.signals import Signal, check
from .._kernel.steps import ensure, quiet, sleep, until_aborted
from .._kernel.task import Steps
from .._policy.lists import check_offer, check_place
from ..errors import ExactChangeError, is_code
from .call import Reply
from .claims import (
    body_claim,
    claims_released,
    delay_next_call,
    drop_claims,
    take_claims,
)
from .context import PaymentContext
from .find_earlier import RepeatedCall, find_earlier
from .present import may_repeat, present
from .presentation import Presentation, Rejected
from .reconcile.earlier_errors import already_spent, in_progress, payment_uncertain, swapped_by
from .reconcile.forgotten import is_forgotten
from .reconcile.monitor import decide_payment, open_payment_of
from .reconcile.sent import sent_payment, source_of
from .saving import save_attempt

T = TypeVar("T")
_DAY_MS = 24 * 60 * 60 * 1000


def resume_earlier_payment(context: PaymentContext, repeat: RepeatedCall) -> Steps[Reply | None]:
    """Asks the chain about earlier attempts without an answer that reached the caller.

    Returns None if a new payment may be made. If the request may be repeated, it presents the
    earlier payment again and returns the response. Else it raises ``payment_uncertain`` or
    ``already_spent``.
    """
    call = repeat.call
    yield from claims_released(context, call.signal)
    attempts = yield from find_earlier(context, repeat)
    earlier = [open_payment_of(context, attempt) for attempt in attempts]
    # Read histories again: the caller may know of a newer state than a cached history shows.
    for open_ in earlier:
        context.histories.outdate(source_of(open_.payment))
    for open_ in earlier:
        if open_.attempt["state"] == "signed":
            yield from _decide(context, open_, repeat.emit, call.signal)
    signed: list[OpenPayment] = []
    for open_ in earlier:
        if open_.attempt["state"] != "signed":
            continue
        # A used key stays blocked: the caller must choose a new key.
        sent = sent_payment(open_.attempt, open_.payment, None)
        at = open_.attempt["at"]
        if repeat.idempotency_key is not None or not (yield from is_forgotten(context, at, sent)):
            signed.append(open_)
    all_settled = [open_ for open_ in earlier if open_.attempt["state"] == "settled"]
    current = _current_of(signed, earlier, all_settled)
    if current is not None:
        if may_repeat(current, call, repeat.is_repeatable):
            return (yield from _present_again(context, current, repeat))
        raise payment_uncertain(current)
    if not all_settled:
        if signed:
            raise payment_uncertain(signed[0])
        return None
    # Each of several callers hears of a purchase that no other caller has heard of.
    untold = [open_ for open_ in all_settled if "toldAt" not in open_.attempt]
    settled = untold or all_settled
    # A seller that does not recognize a settled payment refuses it. So present it again only if the
    # payment has an id or the request is repeatable. The header of an old payment is not on record.
    with_header = [open_ for open_ in settled if open_.payment["header"]["value"]]
    repeatable = next(
        (open_ for open_ in with_header if repeat.is_repeatable or _has_id(open_)), None
    )
    try:
        if repeatable is None:
            raise already_spent(settled[-1])
        return (yield from _present_again(context, repeatable, repeat))
    except ExactChangeError as raised:
        error = raised
    if is_code(error, "already_spent"):
        yield from _tell(context, settled[-1] if repeatable is None else repeatable)
    raise error


def under_key(
    context: PaymentContext,
    idempotency_key: str | None,
    work: Callable[[], Steps[T]],
    signal: Signal | None,
) -> Steps[T]:
    """Runs a purchase as the only one in this process with its idempotency key.

    Two calls that start together would both find no earlier attempt. Raises
    ``payment_in_progress`` if another call has the key.
    """
    if idempotency_key is None:
        return (yield from work())
    yield from claims_released(context, signal)
    keys = context.wallet.keys
    this_call = yield from this_host()
    other_call = keys.get(idempotency_key)
    # A call on a closed event loop never goes on, so its key is free.
    if other_call is not None and not other_call.is_gone:
        raise in_progress({})
    keys[idempotency_key] = this_call

    def let_go() -> Steps[None]:
        keys.pop(idempotency_key, None)
        yield from ()

    return (yield from ensure(work(), let_go))


def _current_of(
    signed: Sequence[OpenPayment],
    earlier: Sequence[OpenPayment],
    settled: Sequence[OpenPayment],
) -> OpenPayment | None:
    """Returns the signed payment that may be presented again.

    A payment that was signed again is not presented, because both would be paid. Nor is its
    successor if the chain shows the first payment. Once the caller was told of the first, the
    successor counts like any other payment: the record of one that never left equals the record of
    one that left before its process crashed.
    """
    replaced = {open_.attempt.get("resigns") for open_ in earlier}
    settled_ids = {open_.attempt["id"] for open_ in settled}
    for open_ in signed:
        is_replaced = open_.attempt["id"] in replaced
        if not is_replaced and open_.attempt.get("resigns") not in settled_ids:
            return open_
    return None


def _present_again(
    context: PaymentContext, open_: OpenPayment, repeat: RepeatedCall
) -> Steps[Reply]:
    """Presents a payment at the URL that asked for it, even if this call was redirected elsewhere.

    Raises if the seller refuses the payment, or the lists refuse it now.
    """
    attempt, lists = open_.attempt, context.config.policy.lists
    # The caller's lists may have changed since the payment was signed.
    if (
        check_place(lists, attempt["host"])
        or check_offer(lists, attempt["payTo"], attempt["mint"], attempt["network"])
    ) is not None:
        raise (
            already_spent(open_)
            if open_.attempt["state"] == "settled"
            else payment_uncertain(open_)
        )
    claims = [open_.attempt["id"], body_claim(open_.attempt["id"])]
    try:
        yield from take_claims(context, claims, context.claims.take(claims))
    except Exception as cause:
        # The claim may be taken despite the error. Drop it, else the next call would assume that a
        # call works on the attempt, and pay again.
        yield from delay_next_call(context, lambda: drop_claims(context, claims))
        raise payment_uncertain(open_, cause)
    shown = yield from present(
        context,
        open_,
        Presentation(
            repeat.call,
            open_.attempt["url"],
            repeat.is_repeatable,
            swapped_by(open_),
            repeat.emit,
            repeat.started_at,
        ),
    )
    if not isinstance(shown, Rejected):
        return shown
    if open_.attempt["state"] == "settled":
        raise already_spent(open_, shown.error.response)
    raise shown.error


def _decide(
    context: PaymentContext, open_: OpenPayment, emit: Emit, signal: Signal | None
) -> Steps[None]:
    """Asks the chain about a payment. Raises ``payment_uncertain`` if the chain cannot be asked."""
    try:
        yield from until_aborted(context.ready(signal), signal)
        within = context.closing if signal is None else signal
        yield from decide_payment(context, open_, emit, within)
    except ExactChangeError as error:
        check(signal)
        # The payment is signed and may land, whatever the error is.
        raise payment_uncertain(open_, error)


def _tell(context: PaymentContext, named: OpenPayment) -> Steps[None]:
    """Records that the caller is being told of the named payment, and then that it was told.

    If the process is killed in between, the caller may not have heard. If the caller itself ends
    the process, it has. Another caller may not have heard of its own payment.
    """
    yield from _note_told(context, named, is_told=False)

    def later() -> Steps[None]:
        yield from sleep(0)
        yield from _note_told(context, named, is_told=True)

    yield from delay_next_call(context, later)


def _note_told(context: PaymentContext, open_: OpenPayment, *, is_told: bool) -> Steps[None]:
    """Writes ``toldAt`` or ``tellingAt``, from which the retry window counts, unless it is set."""
    attempt, now = open_.attempt.copy(), context.now()
    at = attempt.get("toldAt") if is_told else attempt.get("tellingAt")
    # Over a day ahead, the time is from before a clock was set back: the window would last until
    # then. A smaller difference may be between processes, and must not end the window early.
    if at is not None and at <= now + _DAY_MS:
        return
    if is_told:
        attempt["toldAt"] = now
    else:
        attempt["tellingAt"] = now
    open_.attempt = attempt
    # If the write fails, a later call tells the caller once more, which does no harm.
    yield from quiet(save_attempt(context, open_))


def _has_id(open_: OpenPayment) -> bool:
    return open_.payment.get("hasPaymentId") is True
