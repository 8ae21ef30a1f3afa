"""Pays for a call that was answered with terms, and returns the answer to the paid request."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._base.urls import parse_address
from .._events import Emit
from .._journal.registry import OpenPayment
from .._journal.types import Attempt
from .._kernel.signals import Signal, check
from .._kernel.steps import background, ensure, quiet, settled, start
from .._kernel.task import Steps
from .._x402.payload import check_header
from .._x402.types import PaymentRequired
from ..errors import ExactChangeError, Moved, SettlementError, amended
from .approval import Approval
from .call import Call, CallOptions, Reply
from .choose import Choice, Refuse, choose
from .claims import release_claims
from .context import PaymentContext
from .costs import first_receipt
from .earlier import RepeatedCall, resume_earlier_payment, under_key
from .fingerprint import fingerprint_of
from .fund import FundTask, fund_payment, hold_for
from .plan import Place
from .present import Presentation, Rejected, present
from .reconcile.resume import resume_once
from .request_checks import check_request
from .reservation import Reservation
from .resign import second_try_after
from .signing import sign_payment


class Purpose(NamedTuple):
    """What a payment is for."""

    url: str
    method: str
    host: str
    fingerprint: str
    idempotency_key: str | None = None
    # The attempt that this one is signed after.
    resigns: str | None = None


class PayTask(NamedTuple):
    """One payment that is being made."""

    id: str
    purpose: Purpose
    signal: Signal | None
    emit: Emit
    # Grows by what lands on the way, also if the payment fails.
    moved: list[Moved]
    # Milliseconds since the epoch.
    started_at: int


def pay_for_call(
    context: PaymentContext, call: Call, unpaid: Reply, terms: PaymentRequired, options: CallOptions
) -> Steps[Reply]:
    """Raises an ``ExactChangeError`` if it could not be paid, or its outcome is not known."""
    id_ = context.new_id()
    emit = context.events.emitter(id_)
    moved: list[Moved] = []
    try:
        return (yield from _pay(context, call, terms, options, id_, emit, moved))
    except ExactChangeError as raised:
        error = amended(raised, moved, unpaid.evidence)
    if not isinstance(error, SettlementError):
        yield from emit("payment.failed", code=error.code, funds=error.funds, message=error.message)
    raise error


def _pay(
    context: PaymentContext,
    call: Call,
    terms: PaymentRequired,
    options: CallOptions,
    id_: str,
    emit: Emit,
    moved: list[Moved],
) -> Steps[Reply]:
    started_at = context.now()
    # Where a redirect led, the terms are that place's, and so is the paid request.
    address = check_request(
        context.config.policy.lists, call.method, call.asked_at, is_redirected=call.is_redirected
    )
    offers = len(terms.accepts)
    yield from emit("payment.required", url=call.asked_at, method=call.method, offers=offers)
    fingerprint = fingerprint_of(call.method, call.url, call.headers, call.body())
    key = options.idempotency_key
    purpose = Purpose(call.asked_at, call.method, address.host, fingerprint, key)
    is_repeatable = options.is_repeatable

    def purchase() -> Steps[Reply]:
        yield from resume_once(context)
        # An earlier payment first: the seller controls these terms.
        repeat = RepeatedCall(fingerprint, key, is_repeatable, call, emit, started_at)
        earlier = yield from resume_earlier_payment(context, repeat)
        if earlier is not None:
            return earlier
        task = PayTask(id_, purpose, call.signal, emit, moved, started_at)
        first = yield from _choose_and_sign(context, terms, task, None)
        showing = Presentation(call, call.asked_at, is_repeatable, moved, emit, started_at)
        return (yield from _present_or_resign(context, first, showing, task))

    return (yield from under_key(context, key, purchase))


def _choose_and_sign(
    context: PaymentContext, terms: PaymentRequired, task: PayTask, refuse: Refuse | None
) -> Steps[OpenPayment]:
    """Chooses the offer to pay, and signs the payment for it."""
    on_counted = context.wallet.arriving.enter()

    def counted() -> Steps[None]:
        on_counted()
        yield from ()

    def work() -> Steps[OpenPayment]:
        choice = yield from _choose_once(context, terms, task, refuse)
        return (yield from prepare_payment(context, choice, task, on_counted))

    return (yield from ensure(work(), counted))


def _choose_once(
    context: PaymentContext, terms: PaymentRequired, task: PayTask, refuse: Refuse | None
) -> Steps[Choice]:
    """One round trip when cold.

    The node's network is checked, and the blockhash of the payment fetched, beside what choosing
    reads.
    """
    signal = task.signal
    yield from background(quiet(context.blockhashes.recent(signal=signal)))
    ready = yield from start(context.ready(signal))
    choosing = yield from start(choose(context, terms, task.purpose.host, signal, refuse=refuse))
    network = yield from settled(ready)
    choice = yield from settled(choosing)
    check(signal)
    # What a node of another network says about an offer means nothing.
    for outcome in (network, choice):
        if isinstance(outcome, Exception):
            raise outcome
    return choosing.result()


def prepare_payment(
    context: PaymentContext, choice: Choice, task: PayTask, on_counted: Callable[[], None]
) -> Steps[OpenPayment]:
    """Reserves the budget, gets the tokens, asks for approval, signs, and puts it on record.

    Nothing has left when it returns, or it has failed and is rolled back. The attempt stays claimed
    by this call. ``on_counted``: called once it is known what the payment needs of the wallet.
    """
    config, purpose, signal = context.config, task.purpose, task.signal
    offer, facts = choice.offer, choice.facts
    # Before anything is swapped or signed for it.
    check_header(choice.terms, offer)
    yield from task.emit(
        "payment.chosen",
        url=purpose.url,
        network=config.network,
        mint=offer.mint,
        amount=str(offer.amount),
        decimals=facts.decimals,
        pay_to=offer.pay_to,
        refused=[one.to_dict() for one in choice.refused],
    )
    reservation = Reservation(context, _reserved(context, choice, task))
    try:
        taken = yield from reservation.reserve(hold_for(context, choice))
        place = Place(purpose.url, purpose.method, 402, purpose.host)
        approval = Approval(context, place, choice, signal)
        held = yield from fund_payment(
            context,
            choice,
            FundTask(
                task.id,
                task.emit,
                signal,
                task.moved.append,
                reservation,
                approval,
                on_counted,
                taken,
            ),
        )
        funded = context.now()
        check(signal)
        yield from approval.ask(None)
        payment = yield from sign_payment(
            context, choice, purpose.url, purpose.idempotency_key, held.before, signal
        )
        check(signal)
        timings = {
            "funded": funded - task.started_at,
            "signed": context.now() - task.started_at,
        }
        swap = None
        if held.swap is not None:
            swap = held.swap.record, held.swap.fee_lamports
        receipt = first_receipt(
            reservation.attempt, facts.decimals, payment["payerSignature"], swap, timings
        )
        open_ = yield from reservation.sign(payment, receipt)
    except Exception as raised:
        error = raised
    else:
        yield from task.emit(
            "payment.signed",
            payer_signature=payment["payerSignature"],
            last_valid_block_height=payment["lastValidBlockHeight"],
        )
        return open_
    yield from reservation.roll_back(facts.source, error)
    raise error


def _reserved(context: PaymentContext, choice: Choice, task: PayTask) -> Attempt:
    purpose, spend = task.purpose, choice.spend(task.purpose.host)
    attempt: Attempt = {
        "id": task.id,
        "wallet": context.config.wallet,
        "network": context.config.network,
        "state": "reserved",
        "delivered": False,
        "url": purpose.url,
        "method": purpose.method,
        "fingerprint": purpose.fingerprint,
        "at": context.now(),
        "host": spend["host"],
        "payTo": spend["payTo"],
        "mint": spend["mint"],
        "amount": spend["amount"],
    }
    if "microUsd" in spend:
        attempt["microUsd"] = spend["microUsd"]
    if purpose.idempotency_key is not None:
        attempt["idempotencyKey"] = purpose.idempotency_key
    if purpose.resigns is not None:
        attempt["resigns"] = purpose.resigns
    return attempt


def _present_or_resign(
    context: PaymentContext, first: OpenPayment, showing: Presentation, task: PayTask
) -> Steps[Reply]:
    """Presents a payment; and one more, if the seller refuses the first.

    And the caller's policy allows a second.
    """
    may_resign = context.config.policy.resign > 0
    shown = yield from _shown_or_let_go(
        context, first, showing._replace(keeps_claim=may_resign), task, may_resign
    )
    if isinstance(shown, _Both):
        again = yield from present(context, shown.second, showing)
        if not isinstance(again, Rejected):
            return again
        # Nothing is over while the first may still land, or has.
        is_over = first.attempt["state"] == "unsettled"
        is_first = not is_over and again.error.funds == "untouched"
        raise shown.rejected.error if is_first else again.error
    if isinstance(shown, Rejected):
        raise shown.error
    return shown


class _Both(NamedTuple):
    """A first payment that was refused, and a second one that is signed."""

    rejected: Rejected
    second: OpenPayment


def _shown_or_let_go(
    context: PaymentContext,
    first: OpenPayment,
    showing: Presentation,
    task: PayTask,
    may_resign: bool,
) -> Steps[Reply | Rejected | _Both]:
    def work() -> Steps[Reply | Rejected | _Both]:
        shown = yield from present(context, first, showing)
        if not isinstance(shown, Rejected):
            return shown
        signal = showing.call.signal
        again = yield from second_try_after(context, shown, first.attempt, signal)
        yield from background(quiet(shown.reply.dispose()))
        if again is None:
            return shown
        purpose = task.purpose._replace(resigns=first.attempt["id"])
        following = task._replace(id=context.new_id(), purpose=purpose)
        # What is wrong with the second try says less than that the first was refused.
        second = yield from quiet(_choose_and_sign(context, again.terms, following, again.refuse))
        check(signal)
        return shown if second is None else _Both(shown, second)

    def let_go() -> Steps[None]:
        # Until both are on record, no other call presents the first again.
        if may_resign:
            own = [first.attempt["id"]]
            yield from release_claims(context, first, own, showing.call.signal)

    return (yield from ensure(work(), let_go))


def host_of(url: str) -> str:
    """The host of an address, as caps count by it."""
    address = parse_address(url)
    return "" if address is None else address.host
