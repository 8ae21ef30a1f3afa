"""Presents a payment, and signs another after a 402 that shows that nothing was settled."""

from __future__ import annotations

from typing import NamedTuple

from .._journal.registry import OpenPayment
from .._journal.types import Attempt
from .._kernel.deadline import start_deadline
from .._kernel.signals import Following, check, follow
from .._kernel.steps import background, ensure, quiet
from .._kernel.task import Steps
from .._x402.types import Offer, PaymentRequired
from ..errors import ExactChangeError, amended, failure
from .call import Reply
from .choose import Refuse
from .claims import body_claim, release_claims
from .context import PaymentContext
from .outcomes import OUTCOMES, RESIGNED_OUTCOMES
from .present import present
from .presentation import Presentation, Rejected
from .reconcile.earlier_errors import already_spent, paid_by
from .reconcile.monitor import follow_in_background, receipt_once_decided
from .stable_terms import forget_stable_terms
from .task import PayTask, SignFor


def present_or_resign(
    context: PaymentContext, first: OpenPayment, showing: Presentation, task: PayTask, sign: SignFor
) -> Steps[Reply]:
    """Presents a payment. If the seller refuses it and the policy allows, presents a second one."""
    outcomes = RESIGNED_OUTCOMES if context.config.policy.resign > 0 else ()
    showing_first = showing._replace(sign_again_after=outcomes)
    shown = yield from _present_first(context, first, showing_first, task, sign)
    if isinstance(shown, _Both):
        if first.attempt["state"] == "settled":
            yield from _leave_unsent(context, shown.second, showing)
            raise shown.rejected.error
        try:
            return (yield from _present_second(context, first, shown, showing))
        finally:
            task.moved.extend([*paid_by(first), *paid_by(shown.second)])
    if isinstance(shown, Rejected):
        raise shown.error
    return shown


class _Both(NamedTuple):
    """A refused payment, and the second payment that is signed after it."""

    rejected: Rejected
    second: OpenPayment


def _present_second(
    context: PaymentContext, first: OpenPayment, both: _Both, showing: Presentation
) -> Steps[Reply]:
    again = yield from present(context, both.second, showing)
    if not isinstance(again, Rejected):
        return again
    # The second error does not tell that the first payment has landed, or may have.
    state, error = first.attempt["state"], again.error
    is_second = state == "unsettled" or (state == "signed" and error.funds != "untouched")
    raise error if is_second else both.rejected.error


def _leave_unsent(
    context: PaymentContext, second: OpenPayment, showing: Presentation
) -> Steps[None]:
    """Leaves a signed payment on record until it expires, because the seller could take both."""
    second.is_shared = True
    yield from follow_in_background(context, second, showing.emit)
    id_ = second.attempt["id"]
    yield from release_claims(context, second, [id_, body_claim(id_)], showing.call.signal)


def _present_first(
    context: PaymentContext,
    first: OpenPayment,
    showing: Presentation,
    task: PayTask,
    sign: SignFor,
) -> Steps[Reply | Rejected | _Both]:
    """Presents the first payment, and signs a second if the seller and the policy allow it."""

    def work() -> Steps[Reply | Rejected | _Both]:
        shown = yield from present(context, first, showing)
        if not isinstance(shown, Rejected):
            return shown
        again = _second_try_after(shown, first.attempt)
        if again is None:
            return shown
        purpose = task.purpose._replace(resigns=first.attempt["id"])
        unless_settled = yield from _until_settled(context, first, showing)
        signal = unless_settled.signal
        second_task = task._replace(id=context.new_id(), purpose=purpose, signal=signal)
        try:
            second = yield from sign(again.terms, second_task, again.refuse)
        except Exception as error:
            check(showing.call.signal)
            is_settled = first.attempt["state"] == "settled"
            if is_settled or not isinstance(error, ExactChangeError):
                return shown
            # The refusal of the first payment says more, but does not tell of a swap.
            if error.code == "swap_uncertain":
                raise amended(error, response=shown.error.response) from error.__cause__
            return shown
        finally:
            unless_settled.end()
        return _Both(shown, second)

    def let_go() -> Steps[None]:
        # Keep the claim until the second payment is on record, else another call would present the
        # first again.
        if showing.sign_again_after:
            claims = [first.attempt["id"]]
            yield from release_claims(context, first, claims, showing.call.signal)

    return (yield from ensure(work(), let_go))


def _until_settled(
    context: PaymentContext, first: OpenPayment, showing: Presentation
) -> Steps[Following]:
    """Starts a signal that fires with the call's, and when the chain shows the first payment."""
    following = follow(showing.call.signal)

    def watch() -> Steps[None]:
        signal = following.signal
        receipt = yield from receipt_once_decided(context, first, showing.emit, signal)
        if receipt.state == "settled":
            # Without an error of ours: another call that shares a price search would raise it.
            signal.abort()

    yield from background(quiet(watch()))
    return following


class _Undone(NamedTuple):
    """A payment ahead that the seller refused."""

    rejected: Rejected
    # The new terms; None unless the payment can never land.
    terms: PaymentRequired | None


def present_ahead(
    context: PaymentContext, first: OpenPayment, showing: Presentation, task: PayTask, sign: SignFor
) -> Steps[Reply]:
    """Presents a payment that the seller has not asked for.

    If the seller answers 402, it waits until the chain shows that the payment can never land. Then
    it pays by the terms of that 402, as if the call had been sent without a payment.
    """
    call = showing.call

    def work() -> Steps[Reply | _Undone]:
        showing_first = showing._replace(sign_again_after=[*OUTCOMES.values()])
        shown = yield from present(context, first, showing_first)
        if not isinstance(shown, Rejected):
            return shown
        terms = yield from _terms_once_undone(context, first, shown, showing)
        return _Undone(shown, terms)

    claims = [first.attempt["id"]]
    shown = yield from ensure(work(), lambda: release_claims(context, first, claims, call.signal))
    if not isinstance(shown, _Undone):
        return shown
    rejected, terms = shown
    forget_stable_terms(context, call)
    if first.attempt["state"] == "settled":
        raise already_spent(first, rejected.error.response)
    if terms is None:
        raise rejected.error
    task = task._replace(id=context.new_id())
    again = yield from sign(terms, task, None)
    return (yield from present_or_resign(context, again, showing, task, sign))


def _terms_once_undone(
    context: PaymentContext, open_: OpenPayment, shown: Rejected, showing: Presentation
) -> Steps[PaymentRequired | None]:
    """Returns the terms of a 402 to a payment ahead when the payment can never land.

    None if the payment has landed, or if the chain does not decide in time.
    """
    signal = showing.call.signal
    if isinstance(shown.terms, ExactChangeError):
        return None
    deadline = yield from start_deadline(context.config.timeouts.payment, signal)
    try:
        yield from receipt_once_decided(context, open_, showing.emit, deadline.signal)
    except Exception as error:
        check(signal)
        if not deadline.has_passed and not isinstance(error, ExactChangeError):
            raise
        return None
    finally:
        deadline.end()
    return shown.terms if open_.attempt["state"] == "unsettled" else None


class _SecondTry(NamedTuple):
    terms: PaymentRequired
    # Refuses offers that are worse than the first payment.
    refuse: Refuse


def _second_try_after(shown: Rejected, attempt: Attempt) -> _SecondTry | None:
    """Returns the terms for a second payment, to the same payee and for no higher price.

    None if the policy, the answer or the chain does not allow it. The first payment may still land,
    so both count against caps until the chain decides.
    """
    terms = shown.terms
    is_settled = attempt["state"] == "settled"
    if is_settled or not shown.may_resign or not isinstance(terms, PaymentRequired):
        return None
    return _SecondTry(terms, _dearer_than(attempt))


def _dearer_than(attempt: Attempt) -> Refuse:
    """Returns a check that refuses another payee than the attempt's, or a higher price."""
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
