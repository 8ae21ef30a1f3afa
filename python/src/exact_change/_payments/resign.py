"""What to sign anew after a 402 that shows that nothing was settled."""

from __future__ import annotations

from typing import NamedTuple

from .._journal.types import Attempt
from .._kernel.signals import Signal
from .._kernel.steps import quiet
from .._kernel.task import Steps
from .._x402.types import Offer, PaymentRequired
from ..errors import ExactChangeError, failure
from .choose import Refuse
from .context import PaymentContext
from .present import Rejected
from .reading import read_terms


class SecondTry(NamedTuple):
    """Terms that one more payment may be signed for, and what it may not be."""

    terms: PaymentRequired
    refuse: Refuse


def second_try_after(
    context: PaymentContext, shown: Rejected, attempt: Attempt, signal: Signal | None
) -> Steps[SecondTry | None]:
    """If the caller's policy allows it: to the same payee, for no higher price.

    None if there is nothing; the first payment may still land, and both count until the chain
    decides.
    """
    may_resign = context.config.policy.resign > 0 and shown.outcome.may_resign
    if not may_resign or attempt["state"] == "settled":
        return None
    timeout_ms = context.config.timeouts.terms
    terms = yield from quiet(read_terms(shown.reply, timeout_ms, signal))
    return None if terms is None else SecondTry(terms, _dearer_than(attempt))


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
