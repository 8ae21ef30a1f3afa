"""The costs of attempts, in the form of receipts and events."""

from __future__ import annotations

from typing import Any, Mapping

from .._base.amounts import format_ui_amount, format_usd
from .._base.token_text import symbol_of
from .._journal.types import Attempt
from .._policy.caps import cost_parts
from .._policy.cost import (
    LAMPORTS,
    USD,
    USD_OF_FEES,
    USD_OF_SWAPS,
    SwapCost,
    cost_of,
    lacks_price,
)
from .._receipt import Cost, PaidPayment, PaidSwap, Receipt


def cost_for(
    attempt: Mapping[str, Any], network_fee_lamports: int, *, is_paid: bool = True
) -> Cost:
    """Returns the cost of an attempt, as a total and in parts.

    It has no dollars if a part of it has no price: they would be too few.
    ``is_paid``: whether the price has left, or may leave.
    """
    cost = cost_of(attempt, is_paid)
    total, swaps, fees = (cost.get(unit, 0) for unit in (USD, USD_OF_SWAPS, USD_OF_FEES))
    rent = max(0, cost.get(LAMPORTS, 0) - network_fee_lamports)
    in_lamports = Cost(str(network_fee_lamports), str(rent))
    swaps_of = (attempt.get("swapped"), attempt.get("swapping"))
    if attempt.get("microUsd") is None or any(map(lacks_price, swaps_of)):
        return in_lamports
    return in_lamports._replace(usd=format_usd(total), parts=cost_parts(total, swaps, fees))


def cost_for_swap(cost: SwapCost, network_fee_lamports: int) -> Cost:
    expense = {"mint": "", "amount": "0", "microUsd": "0", "swapped": cost}
    return cost_for(expense, network_fee_lamports, is_paid=False)


def first_receipt(
    attempt: Attempt,
    decimals: int,
    payer_signature: str,
    swap: tuple[PaidSwap, int] | None,
    timings: Mapping[str, int],
) -> Receipt:
    """Returns the receipt of a payment at its signature.

    ``swap``: the swap that brought the tokens, if there was one, and its fee in lamports.
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
