"""Asks a distant service to plan a swap for a payment in one call."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._base.runtime import since_then
from .._kernel.signals import Signal, check
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.types import SwapQuote
from .._x402.types import Offer
from ..errors import ExactChangeError, TransportError
from .context import PaymentContext

# For this time after a failed plan, a service is asked only for quotes, so that no payment waits
# for another plan. Milliseconds.
_REST_MS = 60_000


class ServicePlan(NamedTuple):
    """The quote and the transaction that a service returned, not checked yet."""

    quote: SwapQuote
    transaction: Any


def ask_service_plan(
    context: PaymentContext,
    offer: Offer,
    input_mint: Address,
    amount: int,
    signal: Signal | None,
) -> Steps[ServicePlan | None]:
    """Asks a distant service for the quote and the transaction of a swap in one call.

    ``amount``: base units of the offer's mint that the swap must bring. Returns None if the
    service returns no plan; then the quote and the transaction are separate requests. Raises the
    signal's reason.
    """
    transport, memory, runtime = context.transport, context.memory, context.config.runtime
    is_resting = since_then(runtime, memory.service_plan_failed_at) < _REST_MS
    if is_resting:
        return None
    request = _request_for(context, offer, input_mint, amount)
    try:
        answer = yield from transport.auto_pay(request, signal)
    except ExactChangeError as error:
        check(signal)
        if isinstance(error, TransportError):
            memory.service_plan_failed_at = context.now()
        return None
    swap = answer.swap if answer.state == "swap_required" else None
    return None if swap is None else ServicePlan(swap.quote, swap.transaction)


def _request_for(
    context: PaymentContext, offer: Offer, input_mint: Address, amount: int
) -> dict[str, Any]:
    """Returns a request with the normalized fields of the offer only.

    Other fields of the 402 may repeat the requested URL and secrets in it.
    """
    entry = {
        "scheme": "exact",
        "network": offer.network,
        "amount": str(offer.amount),
        "asset": offer.mint,
        "payTo": offer.pay_to,
        "maxTimeoutSeconds": offer.max_timeout_seconds,
        "extra": {"feePayer": offer.fee_payer},
    }
    return {
        "paymentRequired": {"body": {"x402Version": 2, "accepts": [entry]}},
        "wallet": context.config.wallet,
        "autoSwap": True,
        "limits": {offer.mint: str(offer.amount)},
        "swapFrom": [input_mint],
        "swapAmount": str(amount),
        "slippageBps": context.config.policy.max_slippage_bps,
    }
