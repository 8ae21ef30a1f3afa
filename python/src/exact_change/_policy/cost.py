"""What leaves a wallet for a payment, by unit. The one definition of what an attempt costs."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from typing_extensions import NotRequired, TypedDict, TypeGuard

from .._base.amounts import is_digits
from .._base.json_types import is_integer, is_record

# By unit: `USD` and its parts in millionths of a dollar, counts, lamports, base units of a mint.
Cost = Dict[str, int]

USD = "USD"
# Of the dollars: what swaps took beyond what they brought.
USD_OF_SWAPS = "USD of swaps"
# Of the dollars: network fees and rent.
USD_OF_FEES = "USD of fees"
PAYMENTS = "payments"
SWAPS = "swaps"
# Network fees and rent.
LAMPORTS = "lamports"


class SwapPrices(TypedDict):
    """What 2**64 base units of what a swap takes and brings were worth when it was signed.

    Millionths of a dollar: of the input rounded up, of the output rounded down. Absent if the
    token had no price; the output also if it is not pinned.
    """

    input: NotRequired[str]
    output: NotRequired[str]


class SwapCost(TypedDict):
    """What the swaps of an attempt take. It stays counted whatever becomes of the payment."""

    # How many swaps were signed.
    swaps: int
    # What goes in beyond what comes back in a pinned token. Into a token that is not pinned the
    # whole input counts, for what was bought may be worth nothing.
    lossMicroUsd: str
    # Of `lamports`; 0 if SOL has no price.
    feeMicroUsd: str
    # Network fees, and rent of token accounts that stay.
    lamports: str
    # Base units that go in, by mint.
    inputs: dict[str, str]
    # Of the price that the inputs above have bought already, and that must not count twice.
    boughtMicroUsd: str
    # Of a bound: what it was reckoned with.
    prices: NotRequired[SwapPrices]


NO_SWAP_COST: SwapCost = {
    "swaps": 0,
    "lossMicroUsd": "0",
    "feeMicroUsd": "0",
    "lamports": "0",
    "inputs": {},
    "boughtMicroUsd": "0",
}


def cost_of(expense: Mapping[str, Any], is_paid: bool) -> Cost:
    """Its price, unless it never left; what its swaps took; network fees and rent.

    ``expense``: an attempt, or as much of one as its price and its swaps. A price that was bought
    with a counted input is in it already.
    """
    swapped, swapping = expense.get("swapped"), expense.get("swapping")
    price = units_of(expense.get("microUsd") or "0") if is_paid else 0
    amount = units_of(expense["amount"]) if is_paid else 0
    # What is for no payment costs 0.
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


def plus_swap(one: SwapCost, other: SwapCost) -> SwapCost:
    """What both took."""
    inputs = dict(one["inputs"])
    for mint, units in other["inputs"].items():
        inputs[mint] = str(units_of(inputs.get(mint, "0")) + units_of(units))
    return {
        "swaps": one["swaps"] + other["swaps"],
        "lossMicroUsd": str(units_of(one["lossMicroUsd"]) + units_of(other["lossMicroUsd"])),
        "feeMicroUsd": str(units_of(one["feeMicroUsd"]) + units_of(other["feeMicroUsd"])),
        "lamports": str(units_of(one["lamports"]) + units_of(other["lamports"])),
        "inputs": inputs,
        "boughtMicroUsd": str(units_of(one["boughtMicroUsd"]) + units_of(other["boughtMicroUsd"])),
    }


def is_swap_cost(value: object) -> TypeGuard[SwapCost]:
    """Whether parsed JSON is the cost of swaps, in all that sums look at."""
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
    )


def units_of(text: str) -> int:
    """A negative number would be credit, and int takes more than decimals."""
    if not is_digits(text):
        raise ValueError("What is spent must be decimal digits.")
    return int(text)
