"""What attempts cost, as their receipts and events show it."""

from __future__ import annotations

from typing import Any, Mapping

from .._base.amounts import format_ui_amount, format_usd
from .._base.token_text import symbol_of
from .._journal.types import Attempt
from .._policy.caps import cost_parts
from .._policy.cost import LAMPORTS, USD, USD_OF_FEES, USD_OF_SWAPS, SwapCost, cost_of
from .._receipt import Cost, PaidPayment, PaidSwap, Receipt


def cost_for(
    attempt: Mapping[str, Any], network_fee_lamports: int, *, is_paid: bool = True
) -> Cost:
    """What an attempt costs: all of it, and what it is made of.

    ``is_paid``: whether the price has left, or may leave.
    """
    cost = cost_of(attempt, is_paid)
    everything, swaps, fees = (cost.get(unit, 0) for unit in (USD, USD_OF_SWAPS, USD_OF_FEES))
    rent = max(0, cost.get(LAMPORTS, 0) - network_fee_lamports)
    known = Cost(str(network_fee_lamports), str(rent))
    if attempt.get("microUsd") is None:
        return known
    return known._replace(usd=format_usd(everything), parts=cost_parts(everything, swaps, fees))


def cost_for_swap(cost: SwapCost, network_fee_lamports: int) -> Cost:
    """What one swap costs, as its events show it."""
    expense = {"mint": "", "amount": "0", "microUsd": "0", "swapped": cost}
    return cost_for(expense, network_fee_lamports, is_paid=False)


def first_receipt(
    attempt: Attempt,
    decimals: int,
    payer_signature: str,
    swap: tuple[PaidSwap, int] | None,
    timings: Mapping[str, int],
) -> Receipt:
    """The receipt of a payment as it is signed.

    ``swap``: what brought its tokens, if a swap had to, and its fee in lamports.
    """
    network, mint, amount = attempt["network"], attempt["mint"], attempt["amount"]
    payment = PaidPayment(
        network,
        mint,
        amount,
        decimals,
        format_ui_amount(int(amount), decimals),
        attempt["payTo"],
        attempt["wallet"],
        payer_signature,
        symbol_of(network, mint),
    )
    record, fee = (None, 0) if swap is None else swap
    return Receipt(
        attempt["id"],
        attempt["url"],
        attempt["method"],
        attempt["at"],
        "pending",
        payment,
        cost_for(attempt, fee),
        timings,
        record,
    )
