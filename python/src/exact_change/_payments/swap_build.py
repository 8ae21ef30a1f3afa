"""Gets the swap instruction of a quote."""

from __future__ import annotations

from typing import Any

from .._firewall.foreign import extract_swap
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._swap.types import SwapBuild, SwapQuote
from .context import PaymentContext


def build_for(
    context: PaymentContext, quote: SwapQuote, built: Any, signal: Signal | None
) -> Steps[SwapBuild]:
    """Returns the swap instruction from the transport, or from a built transaction.

    ``built``: the transaction that the service built along with the quote, if it did.
    """
    wallet = context.config.wallet
    answer = built
    if answer is None:
        answer = yield from context.transport.build(wallet, quote, signal)
    if isinstance(answer, SwapBuild):
        return answer
    return (
        yield from extract_swap(
            context.rpc, context.tables, answer, wallet, context.decoders, signal
        )
    )
