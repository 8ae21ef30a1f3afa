"""Presents a payment, and signs anew after a 402 that shows that nothing was settled."""

from __future__ import annotations

from typing import NamedTuple

from .._journal.registry import OpenPayment
from .._journal.types import Attempt
from .._kernel.deadline import start_deadline
from .._kernel.signals import Signal, check
from .._kernel.steps import background, ensure, quiet
from .._kernel.task import Steps
from .._x402.types import Offer, PaymentRequired
from ..errors import ExactChangeError, failure
from .call import Reply
from .choose import Refuse
from .claims import release_claims
from .context import PaymentContext
from .present import present
from .presentation import Presentation, Rejected
from .reading import read_terms
from .reconcile.earlier_errors import spent
from .reconcile.monitor import decided
from .stable_terms import forget_stable_terms
from .task import PayTask, SignFor


def present_or_resign(
    context: PaymentContext, first: OpenPayment, showing: Presentation, task: PayTask, sign: SignFor
) -> Steps[Reply]:
    """Presents a payment; and one more, if the seller refuses the first.

    And the caller's policy allows a second.
    """
    may_resign = context.config.policy.resign > 0
    shown = yield from _shown_or_let_go(
        context, first, showing._replace(keeps_claim=may_resign), task, sign, may_resign
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
    sign: SignFor,
    may_resign: bool,
) -> Steps[Reply | Rejected | _Both]:
    def work() -> Steps[Reply | Rejected | _Both]:
        shown = yield from present(context, first, showing)
        if not isinstance(shown, Rejected):
            return shown
        signal = showing.call.signal
        again = yield from _second_try_after(context, shown, first.attempt, signal)
        yield from background(quiet(shown.reply.dispose()))
        if again is None:
            return shown
        purpose = task.purpose._replace(resigns=first.attempt["id"])
        following = task._replace(id=context.new_id(), purpose=purpose)
        # What is wrong with the second try says less than that the first was refused.
        second = yield from quiet(sign(again.terms, following, again.refuse))
        check(signal)
        return shown if second is None else _Both(shown, second)

    def let_go() -> Steps[None]:
        # Until both are on record, no other call presents the first again.
        if may_resign:
            own = [first.attempt["id"]]
            yield from release_claims(context, first, own, showing.call.signal)

    return (yield from ensure(work(), let_go))


class _Undone(NamedTuple):
    """A payment ahead that was refused, and the terms of today if it can never land."""

    rejected: Rejected
    terms: PaymentRequired | None


def present_ahead(
    context: PaymentContext, first: OpenPayment, showing: Presentation, task: PayTask, sign: SignFor
) -> Steps[Reply]:
    """Presents a payment that was not asked for.

    A 402 to it means what an unpaid call would have been told, once the chain has shown that the
    payment can never land.
    """
    call = showing.call

    def work() -> Steps[Reply | _Undone]:
        shown = yield from present(context, first, showing._replace(keeps_claim=True))
        if not isinstance(shown, Rejected):
            return shown
        terms = yield from _terms_once_undone(context, first, shown, showing)
        return _Undone(shown, terms)

    own = [first.attempt["id"]]
    shown = yield from ensure(work(), lambda: release_claims(context, first, own, call.signal))
    if not isinstance(shown, _Undone):
        return shown
    rejected, terms = shown
    forget_stable_terms(context, call)
    if first.attempt["state"] == "settled":
        raise spent(first, rejected.error.response)
    if terms is None:
        raise rejected.error
    yield from background(quiet(rejected.reply.dispose()))
    task = task._replace(id=context.new_id())
    again = yield from sign(terms, task, None)
    return (yield from present_or_resign(context, again, showing, task, sign))


def _terms_once_undone(
    context: PaymentContext, open_: OpenPayment, shown: Rejected, showing: Presentation
) -> Steps[PaymentRequired | None]:
    """The terms of a 402 to a payment ahead, once the chain shows that it can never land.

    None if it has landed, or nothing shows in time what became of it.
    """
    timeouts, signal = context.config.timeouts, showing.call.signal
    deadline = yield from start_deadline(timeouts.payment, signal)
    try:
        terms = yield from read_terms(shown.reply, timeouts.terms, signal)
        yield from decided(context, open_, showing.emit, deadline.signal)
    except Exception as error:
        check(signal)
        if not deadline.has_passed and not isinstance(error, ExactChangeError):
            raise
        return None
    finally:
        deadline.end()
    return terms if open_.attempt["state"] == "unsettled" else None


class _SecondTry(NamedTuple):
    """Terms that one more payment may be signed for, and what it may not be."""

    terms: PaymentRequired
    refuse: Refuse


def _second_try_after(
    context: PaymentContext, shown: Rejected, attempt: Attempt, signal: Signal | None
) -> Steps[_SecondTry | None]:
    """If the caller's policy allows it: to the same payee, for no higher price.

    None if there is nothing; the first payment may still land, and both count until the chain
    decides.
    """
    may_resign = context.config.policy.resign > 0 and shown.outcome.may_resign
    if not may_resign or attempt["state"] == "settled":
        return None
    timeout_ms = context.config.timeouts.terms
    terms = yield from quiet(read_terms(shown.reply, timeout_ms, signal))
    return None if terms is None else _SecondTry(terms, _dearer_than(attempt))


def _dearer_than(attempt: Attempt) -> Refuse:
    """Refuses what is not what was approved: another payee, or a higher price."""
    micro_usd = attempt.get("microUsd")

    def refuse(offer: Offer, price: int | None) -> ExactChangeError | None:
        if offer.pay_to != attempt["payTo"]:
            return failure(
                "not_allowed",
                "The payee has changed since the first payment. Check with the seller before "
                "paying again.",
                {"list": "resign", "value": offer.pay_to},
            )
        if offer.mint == attempt["mint"]:
            is_fair = offer.amount <= int(attempt["amount"])
        else:
            is_fair = price is not None and micro_usd is not None and price <= int(micro_usd)
        if is_fair:
            return None
        return failure(
            "amount_over_limit",
            "The price has risen since the first payment. Check with the seller before paying "
            "again.",
            {
                "cap": "resign",
                "limit": attempt["amount"],
                "amount": str(offer.amount),
                "unit": offer.mint,
            },
        )

    return refuse
