"""How much swaps for payments take from caps: a bound before the signature, then the real cost."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from .._base.amounts import U64_MAX, ceil_div
from .._base.network import WSOL_MINT, pinned_mint
from .._journal.types import Attempt, SwapOutcome
from .._kernel.signals import Signal
from .._kernel.steps import all_of, done
from .._kernel.task import Steps
from .._policy.cost import NO_SWAP_COST, SwapCost, SwapPrices, plus_swap
from .._solana.address import Address
from .._swap.prepare import SwapOutlook
from ..errors import ExactChangeError, QuoteError, TransportError
from .context import PaymentContext
from .prices import PRICE_MEMORY_MS, UsdPrice, usd_price_of
from .swap_quote import price_unknown

# Prices are for so many base units: more than any account can hold, so that rounding is small.
_REFERENCE = U64_MAX + 1


class SwapTaking(NamedTuple):
    """The most that a swap takes, and the least that it brings, before it is signed."""

    input_mint: Address
    output_mint: Address
    max_in: int
    min_out: int
    # Network and priority fee, and rent of token accounts that stay.
    lamports: int
    # Base units of the output that the guard lets be missing, because payments in flight may take
    # them.
    leeway: int = 0


def taking_of(expected: SwapOutlook) -> SwapTaking:
    """Returns the most that a prepared swap takes, by the limits of its guard."""
    bounds, leeway = expected.bounds, expected.leeway
    return SwapTaking(
        bounds.input_mint,
        bounds.output_mint,
        expected.max_in + leeway.input,
        expected.min_out,
        expected.network_fee + expected.priority_fee + expected.rent,
        leeway.output,
    )


def is_over_cap(error: object) -> bool:
    """Returns whether the error is a cap's refusal, before any signature."""
    return (
        isinstance(error, ExactChangeError)
        and error.funds == "untouched"
        and error.code in ("amount_over_limit", "budget_exhausted")
    )


def swap_bound(
    context: PaymentContext, taking: SwapTaking, price: Mapping[str, Any], signal: Signal | None
) -> Steps[SwapCost]:
    """Returns the bound of a swap: the most that it takes from caps, at current prices.

    ``price``: the price of the payment that needs the swap. Raises ``price_unknown`` if a price is
    missing or cannot be asked for, unless the caller bounds the input in base units.
    """
    input_mint, output_mint, max_in, min_out, lamports, leeway = taking
    network, policy = context.config.network, context.config.policy
    is_wrap = input_mint == output_mint
    is_bounded = is_wrap or input_mint in policy.max_in_amount
    is_pinned = pinned_mint(network, output_mint) is not None

    def ask(mint: Address, max_age_ms: float | None = None) -> Steps[UsdPrice | None]:
        try:
            return (yield from usd_price_of(context, mint, signal, max_age_ms=max_age_ms))
        except ExactChangeError as error:
            # Without a price, only the caller's bound in base units limits the swap.
            if not isinstance(error, (TransportError, QuoteError)):
                raise
            if not is_bounded:
                raise price_unknown(mint, error)
            return None

    brought, drained = max(0, min_out - leeway), max(0, leeway - min_out)
    asking_output: Steps[UsdPrice | None] = done(None)
    if is_pinned:
        asking_output = ask(output_mint)
    elif drained > 0:
        asking_output = ask(output_mint, PRICE_MEMORY_MS)
    # Fees are small, so the price of SOL may be older.
    input_, output, sol = yield from all_of(
        [ask(input_mint), asking_output, ask(WSOL_MINT, PRICE_MEMORY_MS)]
    )
    if input_ is None and not is_bounded:
        raise price_unknown(input_mint)
    fee = 0 if sol is None else sol.most(lamports)
    cost: SwapCost = {
        **NO_SWAP_COST,
        "swaps": 1,
        "feeMicroUsd": str(fee),
        "lamports": str(lamports),
    }
    is_priced = (sol is not None or lamports == 0) and (
        is_wrap or (input_ is not None and (output is not None or drained == 0))
    )
    if not is_priced:
        cost["unpriced"] = True
    if is_wrap:
        return cost
    prices: SwapPrices = {}
    if input_ is not None:
        prices["input"] = str(input_.most(_REFERENCE))
    if output is not None and is_pinned:
        prices["output"] = str(output.least(_REFERENCE))
    # `_loss_of` credits the whole pinned output, so the whole leeway counts as missing.
    missing = 0 if output is None else output.most(leeway if is_pinned else drained)
    inputs = {input_mint: str(max_in)}
    if drained > 0:
        inputs[output_mint] = str(drained)
    bought = 0 if is_pinned or input_ is None else _bought_by(price, brought)
    return {
        **cost,
        "lossMicroUsd": str(_loss_of(prices, max_in, min_out) + missing),
        "inputs": inputs,
        "boughtMicroUsd": str(bought),
        "prices": prices,
    }


def with_swap_cost(attempt: Attempt, outcome: SwapOutcome) -> Attempt:
    """Returns an attempt with the outcome of its swap: the real cost replaces the bound."""
    cost = swap_cost_after(attempt, outcome)
    decided = without_bound(attempt)
    if "swap" in attempt:
        decided["swap"] = {**attempt["swap"], "outcome": outcome}
    if cost is not None:
        decided["swapped"] = plus_swap(attempt.get("swapped", NO_SWAP_COST), cost)
    return decided


def without_bound(attempt: Attempt) -> Attempt:
    """Returns an attempt without a bound, because its swap was not signed, or can never land."""
    copy = attempt.copy()
    copy.pop("swapping", None)
    return copy


def swap_cost_after(attempt: Attempt, outcome: SwapOutcome) -> SwapCost | None:
    """Returns the cost of a decided swap, at the prices of its bound; None if it took nothing.

    The bound counts until a node shows the swap's amounts in a consistent answer. The cost is above
    the bound only if the chain shows that more has left.
    """
    bound, swap = attempt.get("swapping"), attempt.get("swap")
    if bound is None:
        return None
    if outcome["state"] == "failed":
        if outcome.get("code") == "swap_expired":
            return None
        fee = outcome.get("feeLamports")
        return bound if fee is None else _with_fees(NO_SWAP_COST, bound, int(fee))
    rent = outcome.get("rentLamports")
    if rent is None:
        return bound
    lamports = int(outcome.get("feeLamports", "0")) + int(rent)
    prices = bound.get("prices")
    # An earlier version of this library wrote no prices. Then only fees and rent are corrected.
    if prices is None or swap is None:
        return _with_fees(bound, bound, lamports)
    taken = int(outcome.get("inAmount", "0"))
    # Output beyond the quote is no credit, because a wrong number of one node could claim it.
    brought = min(int(outcome.get("outAmount", "0")), int(swap["quoted"]["outAmount"]))
    if taken <= 0 or brought <= 0:
        return bound
    is_bought = "input" in prices and "output" not in prices
    cost: SwapCost = {
        **NO_SWAP_COST,
        "lossMicroUsd": str(_loss_of(prices, taken, brought)),
        "inputs": {swap["inputMint"]: str(taken)},
        "boughtMicroUsd": str(_bought_by(attempt, brought) if is_bought else 0),
    }
    if "input" not in prices:
        cost["unpriced"] = True
    return _with_fees(cost, bound, lamports)


def _loss_of(prices: SwapPrices, in_amount: int, out_amount: int) -> int:
    """Returns the value of the input beyond the value of the output.

    Only a pinned output has a price here; any other output counts as worthless.
    """
    input_value = ceil_div(int(prices.get("input", "0")) * in_amount, _REFERENCE)
    output_value = int(prices.get("output", "0")) * out_amount // _REFERENCE
    return max(0, input_value - output_value)


def _bought_by(price: Mapping[str, Any], out_amount: int) -> int:
    """Returns the share of the price that the swap's input has bought, and that counts already."""
    units = int(price["amount"])
    # A swap without a payment buys no share.
    if units == 0:
        return 0
    return int(price.get("microUsd") or "0") * min(out_amount, units) // units


def _with_fees(cost: SwapCost, bound: SwapCost, taken: int) -> SwapCost:
    """Returns the cost with a swap's fees and rent, at the price of SOL in its bound."""
    most = int(bound["lamports"])
    micro_usd = 0 if most == 0 else ceil_div(int(bound["feeMicroUsd"]) * taken, most)
    counted: SwapCost = {
        **cost,
        "swaps": 1,
        "feeMicroUsd": str(micro_usd),
        "lamports": str(taken),
    }
    # Values are rounded up, so a fee of 0 dollars says that SOL has no price.
    if micro_usd == 0 and taken > 0:
        counted["unpriced"] = True
    return counted
