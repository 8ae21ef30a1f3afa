"""A swap for a payment, as a distant service plans it in one call."""

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

# A service that cannot plan, or hangs, costs a payment no time again so soon: its quotes may be all
# that it has.
_REST_MS = 60_000


class ServicePlan(NamedTuple):
    """What a service says to a plan, neither part of it judged."""

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

    ``amount``: base units of the offer's token that it has to bring. None if the transport is not
    distant, and if no such plan comes of it, for whatever reason: both can be asked for by
    themselves. Raises the signal's reason.
    """
    transport, memory, runtime = context.transport, context.memory, context.config.runtime
    is_resting = since_then(runtime, memory.service_plan_failed_at) < _REST_MS
    if not transport.is_distant or is_resting:
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
    """The offer in our own words, and no more of the 402.

    What its seller wrote beside it may repeat the address that was asked, and what is secret in
    that.
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
