"""The cost of an attempt: everything that leaves the wallet for it, by unit.

No other module defines what an attempt costs.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

from typing_extensions import NotRequired, TypedDict, TypeGuard

from .._base.amounts import is_digits
from .._base.json_types import is_integer, is_record

# Amounts by unit: `USD` and its parts in millionths of a dollar, counts, lamports, and base units
# by mint.
Cost = Dict[str, int]

USD = "USD"
# The part of `USD` that swaps took beyond their output in a pinned token.
USD_OF_SWAPS = "USD of swaps"
# The part of `USD` that is network fees and rent.
USD_OF_FEES = "USD of fees"
PAYMENTS = "payments"
SWAPS = "swaps"
# Network fees and rent.
LAMPORTS = "lamports"


class SwapPrices(TypedDict):
    """Prices of a swap's tokens when it was signed: millionths of a dollar for 2**64 base units.

    The input price is rounded up, the output price down. A price is absent if the token had none,
    or if the output token is not pinned.
    """

    input: NotRequired[str]
    output: NotRequired[str]


class SwapCost(TypedDict):
    """The cost of an attempt's swaps. It counts whatever becomes of the payment."""

    # Number of signed swaps.
    swaps: int
    # Millionths of a dollar: the input beyond the output in a pinned token. If the output token is
    # not pinned, the whole input counts, because the bought token may be worthless.
    lossMicroUsd: str
    # `lamports` in millionths of a dollar; 0 if SOL has no price.
    feeMicroUsd: str
    # Network fees, and rent of token accounts that stay open.
    lamports: str
    # Base units of input, by mint.
    inputs: dict[str, str]
    # The part of the payment's price that the inputs have bought, so that it does not count twice.
    # Millionths of a dollar.
    boughtMicroUsd: str
    # The prices that a bound was computed with.
    prices: NotRequired[SwapPrices]
    # Whether a part of this cost has no price, so that the dollars above lack it.
    unpriced: NotRequired[bool]


NO_SWAP_COST: SwapCost = {
    "swaps": 0,
    "lossMicroUsd": "0",
    "feeMicroUsd": "0",
    "lamports": "0",
    "inputs": {},
    "boughtMicroUsd": "0",
}


def cost_of(expense: Mapping[str, Any], is_paid: bool) -> Cost:
    """Returns the cost of an attempt: its price, its swaps, network fees and rent.

    ``expense`` has the fields of an attempt that hold its price and its swaps. ``is_paid``: whether
    the price has left, or may leave. A price that a counted swap input bought counts once.
    """
    swapped, swapping = expense.get("swapped"), expense.get("swapping")
    price = units_of(expense.get("microUsd") or "0") if is_paid else 0
    amount = units_of(expense["amount"]) if is_paid else 0
    # A swap without a payment has an amount of 0, and is no payment.
    paid = {PAYMENTS: 1 if amount > 0 else 0, expense["mint"]: amount}
    if swapped is None and swapping is None:
        return _positive({USD: price, **paid})
    if swapped is not None and swapping is not None:
        swaps = plus_swap(swapped, swapping)
    else:
        swaps = swapped or swapping or NO_SWAP_COST
    loss, fees = units_of(swaps["lossMicroUsd"]), units_of(swaps["feeMicroUsd"])
    cost = _positive(
        {
            USD: max(0, price - units_of(swaps["boughtMicroUsd"])) + loss + fees,
            USD_OF_SWAPS: loss,
            USD_OF_FEES: fees,
            PAYMENTS: 0,
            SWAPS: swaps["swaps"],
            LAMPORTS: units_of(swaps["lamports"]),
            **paid,
        }
    )
    inputs = {mint: units_of(units) for mint, units in swaps["inputs"].items()}
    for mint, units in _positive(inputs).items():
        cost[mint] = cost.get(mint, 0) + units
    return cost


def _positive(cost: Cost) -> Cost:
    return {unit: value for unit, value in cost.items() if value > 0}


def plus_swap(a: SwapCost, b: SwapCost) -> SwapCost:
    """Returns the sum of two swap costs, without prices."""
    inputs = dict(a["inputs"])
    for mint, units in b["inputs"].items():
        inputs[mint] = str(units_of(inputs.get(mint, "0")) + units_of(units))
    cost: SwapCost = {
        "swaps": a["swaps"] + b["swaps"],
        "lossMicroUsd": str(units_of(a["lossMicroUsd"]) + units_of(b["lossMicroUsd"])),
        "feeMicroUsd": str(units_of(a["feeMicroUsd"]) + units_of(b["feeMicroUsd"])),
        "lamports": str(units_of(a["lamports"]) + units_of(b["lamports"])),
        "inputs": inputs,
        "boughtMicroUsd": str(units_of(a["boughtMicroUsd"]) + units_of(b["boughtMicroUsd"])),
    }
    return {**cost, "unpriced": True} if lacks_price(a) or lacks_price(b) else cost


def lacks_price(cost: SwapCost | None) -> bool:
    return cost is not None and cost.get("unpriced") is True


def is_swap_cost(value: object) -> TypeGuard[SwapCost]:
    """Returns whether a parsed JSON value has every field of a swap cost that sums read."""
    if not is_record(value):
        return False
    swaps, inputs = value.get("swaps"), value.get("inputs")
    prices = value.get("prices", {})
    return (
        is_integer(swaps)
        and swaps >= 0
        and is_record(inputs)
        and all(map(is_digits, inputs.values()))
        and all(
            is_digits(value.get(name))
            for name in ("lossMicroUsd", "feeMicroUsd", "lamports", "boughtMicroUsd")
        )
        and is_record(prices)
        and all(is_digits(prices.get(name, "0")) for name in ("input", "output"))
        and isinstance(value.get("unpriced", False), bool)
    )


def units_of(text: str) -> int:
    """Parses decimal digits only: a minus sign would add budget, and ``int`` takes more forms."""
    if not is_digits(text):
        raise ValueError("What is spent must be decimal digits.")
    return int(text)
