"""Earlier attempts at the same request, before any terms are looked at."""

from __future__ import annotations

from typing import Callable, Sequence, TypeVar

from .._events import Emit
from .._journal.registry import OpenPayment
from .._kernel.hosts import this_host
from .._kernel.signals import Signal, check
from .._kernel.steps import background, ensure, quiet, sleep, until_aborted
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
from .reconcile.earlier_errors import in_progress, spent, swapped_by, undecided
from .reconcile.forgotten import is_forgotten
from .reconcile.monitor import decide_payment, open_payment_of
from .reconcile.sent import sent_payment, source_of
from .saving import save_attempt

T = TypeVar("T")


def resume_earlier_payment(context: PaymentContext, repeat: RepeatedCall) -> Steps[Reply | None]:
    """Lets the chain decide earlier attempts first whose answer did not reach its caller.

    The same payment presented again if the request may be repeated, ``payment_uncertain``,
    ``already_spent``, or None if the way is free for a new one.
    """
    call = repeat.call
    yield from claims_released(context, call.signal)
    found = yield from find_earlier(context, repeat)
    everything = [open_payment_of(context, one) for one in found]
    # The caller may have heard more of them than was known a moment ago.
    for open_ in everything:
        context.histories.outdate(source_of(open_.payment))
    for open_ in everything:
        if open_.attempt["state"] == "signed":
            yield from _ask(context, open_, repeat.emit, call.signal)
    signed: list[OpenPayment] = []
    for open_ in everything:
        if open_.attempt["state"] != "signed":
            continue
        # A key is never free again: its caller has to give a new one.
        sent = sent_payment(open_.attempt, open_.payment, None)
        at = open_.attempt["at"]
        if repeat.idempotency_key is not None or not (yield from is_forgotten(context, at, sent)):
            signed.append(open_)
    settled = [one for one in everything if one.attempt["state"] == "settled"]
    current = _current_of(signed, everything, settled)
    if current is not None:
        if may_repeat(current, call, repeat.is_repeatable):
            return (yield from _present_again(context, current, repeat))
        raise undecided(current)
    if not settled:
        if signed:
            raise undecided(signed[0])
        return None
    # What is settled is refused by a seller that does not know the payment again, so only one that
    # does is asked.
    known = next((one for one in settled if repeat.is_repeatable or _has_id(one)), None)
    try:
        if known is None:
            raise spent(settled[-1])
        return (yield from _present_again(context, known, repeat))
    except ExactChangeError as raised:
        error = raised
    if is_code(error, "already_spent"):
        yield from _tell(context, settled)
    raise error


def under_key(
    context: PaymentContext,
    idempotency_key: str | None,
    work: Callable[[], Steps[T]],
    signal: Signal | None,
) -> Steps[T]:
    """Makes a purchase as the only one in this process under its idempotency key.

    Two that start together would both find no earlier attempt. Raises ``payment_in_progress`` if
    another call is making it.
    """
    if idempotency_key is None:
        return (yield from work())
    yield from claims_released(context, signal)
    keys = context.wallet.keys
    own = yield from this_host()
    other = keys.get(idempotency_key)
    # A call whose event loop was closed makes nothing any more.
    if other is not None and not other.is_gone:
        raise in_progress({})
    keys[idempotency_key] = own

    def let_go() -> Steps[None]:
        keys.pop(idempotency_key, None)
        yield from ()

    return (yield from ensure(work(), let_go))


def _current_of(
    signed: Sequence[OpenPayment],
    everything: Sequence[OpenPayment],
    settled: Sequence[OpenPayment],
) -> OpenPayment | None:
    # One that another was signed after is presented no more: both would be paid. Nor one that was
    # signed after another which the chain has shown meanwhile.
    replaced = {one.attempt.get("resigns") for one in everything}
    settled_ids = {one.attempt["id"] for one in settled}
    for one in signed:
        is_replaced = one.attempt["id"] in replaced
        if not is_replaced and one.attempt.get("resigns") not in settled_ids:
            return one
    return None


def _present_again(
    context: PaymentContext, open_: OpenPayment, repeat: RepeatedCall
) -> Steps[Reply]:
    """To the address that asked for it, wherever this call was led."""
    attempt, lists = open_.attempt, context.config.policy.lists
    # The caller's lists may have changed since it was signed.
    if (
        check_place(lists, attempt["host"])
        or check_offer(lists, attempt["payTo"], attempt["mint"], attempt["network"])
    ) is not None:
        raise spent(open_) if open_.attempt["state"] == "settled" else undecided(open_)
    claims = [open_.attempt["id"], body_claim(open_.attempt["id"])]
    try:
        yield from take_claims(context, claims, context.claims.take(claims))
    except Exception as cause:
        # It may have been taken all the same: the next call would take this one to be at work, and
        # pay.
        yield from delay_next_call(context, lambda: drop_claims(context, claims))
        raise undecided(open_, cause)
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
    yield from background(quiet(shown.reply.dispose()))
    if open_.attempt["state"] == "settled":
        raise spent(open_, shown.reply.evidence)
    raise shown.error


def _ask(
    context: PaymentContext, open_: OpenPayment, emit: Emit, signal: Signal | None
) -> Steps[None]:
    try:
        yield from until_aborted(context.ready(signal), signal)
        within = context.closing if signal is None else signal
        yield from decide_payment(context, open_, emit, within)
    except ExactChangeError as error:
        check(signal)
        # Whatever kept us from asking, that payment is out there.
        raise undecided(open_, error)


def _tell(context: PaymentContext, settled: Sequence[OpenPayment]) -> Steps[None]:
    """Notes that the caller is being told, and once it has been, that it was.

    If the process is killed in between, it may not have heard, and if its caller ends it, it has.
    All at once, or each of them would keep the way closed for a window of its own.
    """
    for open_ in settled:
        yield from _note_told(context, open_, is_over=False)

    def later() -> Steps[None]:
        yield from sleep(0)
        for open_ in settled:
            yield from _note_told(context, open_, is_over=True)

    yield from delay_next_call(context, later)


def _note_told(context: PaymentContext, open_: OpenPayment, *, is_over: bool) -> Steps[None]:
    """From now on, for as long as the window lasts, repeats are told the same."""
    attempt = open_.attempt.copy()
    if is_over:
        attempt.setdefault("toldAt", context.now())
    else:
        attempt.setdefault("tellingAt", context.now())
    if attempt == open_.attempt:
        return
    open_.attempt = attempt
    # Not written down, it is told once more than it had to be.
    yield from quiet(save_attempt(context, open_))


def _has_id(open_: OpenPayment) -> bool:
    return open_.payment.get("hasPaymentId") is True
