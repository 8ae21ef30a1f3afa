"""Prepares a payment, from the reservation of its budget to its signature."""

from __future__ import annotations

from typing import Callable

from .._journal.registry import OpenPayment
from .._journal.types import Attempt
from .._kernel.signals import check
from .._kernel.task import Steps
from .._x402.payload import check_header
from .approval import Approval
from .choose import Choice
from .context import PaymentContext
from .costs import first_receipt
from .fund import FundTask, fund_payment, hold_for
from .funds import Funding
from .once_topped_up import once_topped_up
from .plan import Place, Plan, plan_of
from .reservation import Reservation
from .signing import sign_payment
from .task import PayTask


def prepare_payment(
    context: PaymentContext, choice: Choice, task: PayTask, on_counted: Callable[[], None]
) -> Steps[OpenPayment]:
    """Reserves the budget, gets the tokens, asks for approval, signs, and records the payment.

    The payment is not sent yet. If a step fails, it rolls the reservation back. The attempt stays
    claimed by this call. ``on_counted`` is called when the wallet knows the payment's need.
    """
    config, purpose, signal = context.config, task.purpose, task.signal
    offer, facts = choice.offer, choice.facts
    # Check this before any swap or signature.
    check_header(choice.terms, offer)
    yield from task.emit(
        "payment.chosen",
        url=purpose.url,
        network=config.network,
        mint=offer.mint,
        amount=str(offer.amount),
        decimals=facts.decimals,
        pay_to=offer.pay_to,
        refused=[refusal.to_dict() for refusal in choice.refused],
    )
    reservation = Reservation(context, _reserved(context, choice, task))
    try:
        hold = hold_for(context, choice)
        taken = yield from once_topped_up(context, lambda: reservation.reserve(hold), signal)
        place = Place(purpose.url, purpose.method, 402, purpose.host)

        def plan_for(funding: Funding | None) -> Steps[Plan]:
            return plan_of(context, place, choice, funding, signal, is_reserved=True)

        approval = Approval(context, plan_for, signal)
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
    except GeneratorExit:
        raise
    # The caller's function may call `sys.exit`: its reservation must not last until the exit.
    except BaseException as raised:
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
