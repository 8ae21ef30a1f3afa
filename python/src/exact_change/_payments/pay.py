"""Pays for a call that was answered with terms, and returns the answer to the paid request."""

from __future__ import annotations

import functools
from typing import Callable, NamedTuple, TypeVar

from .._base.urls import host_of
from .._journal.registry import OpenPayment
from .._kernel.signals import check
from .._kernel.steps import background, quiet, settled, start, until_aborted
from .._kernel.task import Steps
from .._tied import receipt_of
from .._x402.types import PaymentRequired
from ..errors import ExactChangeError, Moved, SettlementError, amended
from .call import Call, CallOptions, Reply
from .choose import Choice, Refuse, choose
from .claims import delaying_equal_calls, equal_calls_ended
from .context import PaymentContext
from .earlier import resume_earlier_payment, under_key
from .find_earlier import RepeatedCall
from .find_swap import while_choosing
from .fingerprint import fingerprint_of
from .prepare import prepare_payment
from .presentation import Presentation
from .reconcile.earlier_errors import uncertain_if_unread
from .reconcile.resume import resume_once
from .request_checks import check_request
from .resign import present_ahead, present_or_resign
from .stable_terms import Charge, forget_stable_terms, note_charge, only_paid_ahead
from .task import PayTask, Purpose, SignFor

R = TypeVar("R")
# Refusals of a person or a wallet, which must be asked only once for each call.
_REFUSALS = ("approval_refused", "signing_failed")


def pay_for_call(
    context: PaymentContext,
    call: Call,
    unpaid: Reply,
    terms: PaymentRequired | ExactChangeError,
    options: CallOptions,
) -> Steps[Reply]:
    """Pays for a call, and returns the answer to the paid request.

    ``terms`` is an error if the terms cannot be read. Raises an ``ExactChangeError`` if the call
    cannot be paid, or if the outcome of its payment is unknown.
    """
    if isinstance(terms, ExactChangeError):
        return (
            yield from _as_purchase(context, _Asked(call, None, unpaid), options, _refuse(terms))
        )

    at = context.now()
    sign: SignFor = functools.partial(_choose_and_sign, context)

    def buy(task: PayTask, showing: Presentation) -> Steps[Reply]:
        first = yield from sign(terms, task, None)
        return (yield from present_or_resign(context, first, showing, task, sign))

    paid = yield from _as_purchase(context, _Asked(call, terms, unpaid), options, buy)
    note_charge(context, call, Charge(terms, unpaid, at, paid))
    return paid


def pay_ahead(
    context: PaymentContext, call: Call, terms: PaymentRequired, options: CallOptions
) -> Steps[Reply | None]:
    """Pays with the first request of a call, by the terms of an earlier call.

    Returns None if the seller must be asked for its terms; nothing has left the wallet then.
    """
    # The terms may have changed, so never swap for them, even if another call takes the tokens.
    swapless = context.without_swaps()

    sign: SignFor = functools.partial(_choose_and_sign, context)

    def buy(task: PayTask, showing: Presentation) -> Steps[Reply | None]:
        try:
            first = yield from _choose_and_sign(swapless, terms, task, only_paid_ahead)
        except ExactChangeError as error:
            # By current terms, the call may cost less, or nothing.
            if error.funds != "untouched" or error.code in _REFUSALS:
                raise
            return None
        return (yield from present_ahead(context, first, showing, task, sign))

    paid = yield from _as_purchase(context, _Asked(call, terms), options, buy)
    receipt = None if paid is None else receipt_of(paid.native)
    # If the call was free or refused, ask for terms first the next time.
    if (
        paid is None
        or not 200 <= paid.status < 300
        or receipt is None
        or receipt.settlement is None
    ):
        forget_stable_terms(context, call)
    return paid


def _refuse(error: ExactChangeError) -> Callable[[PayTask, Presentation], Steps[Reply]]:
    def buy(_task: PayTask, _showing: Presentation) -> Steps[Reply]:
        raise error
        yield  # pragma: no cover

    return buy


class _Asked(NamedTuple):
    call: Call
    # None if the terms cannot be read.
    terms: PaymentRequired | None
    # The answer with the terms; None for a payment ahead.
    unpaid: Reply | None = None


def _as_purchase(
    context: PaymentContext,
    asked: _Asked,
    options: CallOptions,
    buy: Callable[[PayTask, Presentation], Steps[R]],
) -> Steps[R | Reply]:
    """Runs a purchase, unless an earlier payment for the same call brings the answer.

    An error says what happened to the money.
    """
    call, id_, started_at = asked.call, context.new_id(), context.now()
    emit = context.events.emitter(id_)
    moved: list[Moved] = []

    def purchase(purpose: Purpose) -> Steps[R | Reply]:
        yield from uncertain_if_unread(until_aborted(resume_once(context), call.signal))
        is_repeatable = options.is_repeatable
        # Check for an earlier payment first: the seller controls these terms and redirects.
        repeat = RepeatedCall(
            purpose.fingerprint, purpose.idempotency_key, is_repeatable, call, emit, started_at
        )
        earlier = yield from resume_earlier_payment(context, repeat)
        if earlier is not None:
            return earlier
        lists = context.config.policy.lists
        check_request(lists, call.method, call.asked_at, is_redirected=call.is_redirected)
        task = PayTask(id_, purpose, call.signal, emit, moved, started_at)
        showing = Presentation(call, call.asked_at, is_repeatable, moved, emit, started_at)
        return (yield from buy(task, showing))

    try:
        # After a redirect, the terms come from the final URL, and the paid request goes there.
        url, method = call.asked_at, call.method
        if asked.terms is not None:
            offers = len(asked.terms.accepts)
            yield from emit("payment.required", url=url, method=method, offers=offers)
        fingerprint = fingerprint_of(call.method, call.url, call.headers, call.body())
        key = options.idempotency_key
        purpose = Purpose(url, method, host_of(url), fingerprint, key)
        yield from equal_calls_ended(context, purpose, call.signal)
        buying = under_key(context, key, lambda: purchase(purpose), call.signal)
        return (yield from delaying_equal_calls(context, purpose, buying, call.signal))
    except ExactChangeError as raised:
        error = amended(raised, moved, None if asked.unpaid is None else asked.unpaid.evidence)
    if not isinstance(error, SettlementError):
        yield from emit("payment.failed", code=error.code, funds=error.funds, message=error.message)
    raise error


def _choose_and_sign(
    context: PaymentContext, terms: PaymentRequired, task: PayTask, refuse: Refuse | None
) -> Steps[OpenPayment]:
    def work(on_counted: Callable[[], None]) -> Steps[OpenPayment]:
        choice = yield from _choose_once(context, terms, task, refuse)
        return (yield from prepare_payment(context, choice, task, on_counted))

    return (yield from while_choosing(context, work))


def _choose_once(
    context: PaymentContext, terms: PaymentRequired, task: PayTask, refuse: Refuse | None
) -> Steps[Choice]:
    """Chooses an offer in one round trip if nothing is cached.

    It checks the node's network and fetches a blockhash while the choice reads the chain.
    """
    signal = task.signal
    if not context.blockhashes.is_fresh:
        yield from background(quiet(context.blockhashes.recent(signal=signal)))
    ready = yield from start(context.ready(signal))
    choosing = yield from start(choose(context, terms, task.purpose.host, signal, refuse=refuse))
    network = yield from settled(ready)
    choice = yield from settled(choosing)
    check(signal)
    # Raise the network's error first: facts of another network say nothing about an offer.
    for outcome in (network, choice):
        if isinstance(outcome, Exception):
            raise outcome
    return choosing.result()
