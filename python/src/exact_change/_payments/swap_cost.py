"""What swaps for payments take of caps: at most before they are signed, and as the chain shows."""

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
from ..errors import ExactChangeError, QuoteError, TransportError, failure
from .context import PaymentContext
from .prices import PRICE_MEMORY_MS, UsdPrice, usd_price_of

# More base units than any account can hold, so that rounding is nothing.
_REFERENCE = U64_MAX + 1


class SwapTaking(NamedTuple):
    """A swap that is about to be signed: what it takes at most and brings at least."""

    input_mint: Address
    output_mint: Address
    max_in: int
    min_out: int
    # Network and priority fee, and rent of token accounts that stay.
    lamports: int
    # What of the output may be missing besides, because payments in flight may take it.
    leeway: int = 0


def taking_of(expected: SwapOutlook) -> SwapTaking:
    """What a swap that is about to be signed takes at most, as its guard has it."""
    bounds, leeway = expected.bounds, expected.leeway
    return SwapTaking(
        bounds.input_mint,
        bounds.output_mint,
        expected.max_in + leeway.input,
        expected.min_out,
        expected.network_fee + expected.priority_fee + expected.rent + leeway.lamports,
        leeway.output,
    )


def is_over_cap(error: object) -> bool:
    """Whether a cap refused something before it was signed."""
    return (
        isinstance(error, ExactChangeError)
        and error.funds == "untouched"
        and error.code in ("amount_over_limit", "budget_exhausted")
    )


def swap_bound(
    context: PaymentContext, taking: SwapTaking, price: Mapping[str, Any], signal: Signal | None
) -> Steps[SwapCost]:
    """What a swap for a payment takes at most, by the prices of now.

    ``price``: of the payment that the swap is for. Raises ``price_unknown`` if its input has no
    price, or one cannot be asked for, unless the caller bounds the input in base units.
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
            # A price that cannot be asked for is none if the caller bounds the swap in base units;
            # else nothing bounds what it takes.
            if not isinstance(error, (TransportError, QuoteError)):
                raise
            if not is_bounded:
                raise _unknown(mint, error)
            return None

    brought, drained = max(0, min_out - leeway), max(0, leeway - min_out)
    asked: Steps[UsdPrice | None] = done(None)
    if is_pinned:
        asked = ask(output_mint)
    elif drained > 0:
        asked = ask(output_mint, PRICE_MEMORY_MS)
    # A fee is small, so its price may be older.
    given, output, sol = yield from all_of(
        [ask(input_mint), asked, ask(WSOL_MINT, PRICE_MEMORY_MS)]
    )
    if given is None and not is_bounded:
        raise _unknown(input_mint)
    fee = 0 if sol is None else sol.most(lamports)
    cost: SwapCost = {
        **NO_SWAP_COST,
        "swaps": 1,
        "feeMicroUsd": str(fee),
        "lamports": str(lamports),
    }
    if is_wrap:
        return cost
    prices: SwapPrices = {}
    if given is not None:
        prices["input"] = str(given.most(_REFERENCE))
    if output is not None and is_pinned:
        prices["output"] = str(output.least(_REFERENCE))
    # A pinned output is credited before it is missed.
    missing = 0 if output is None else output.most(leeway if is_pinned else drained)
    inputs = {input_mint: str(max_in)}
    if drained > 0:
        inputs[output_mint] = str(drained)
    bought = 0 if is_pinned or given is None else _bought_by(price, brought)
    return {
        **cost,
        "lossMicroUsd": str(_loss_of(prices, max_in, min_out) + missing),
        "inputs": inputs,
        "boughtMicroUsd": str(bought),
        "prices": prices,
    }


def with_swap_cost(attempt: Attempt, outcome: SwapOutcome) -> Attempt:
    """An attempt whose swap was decided: what that took stands for what it took at most."""
    cost = swap_cost_after(attempt, outcome)
    decided = without_bound(attempt)
    if "swap" in attempt:
        decided["swap"] = {**attempt["swap"], "outcome": outcome}
    if cost is not None:
        decided["swapped"] = plus_swap(attempt.get("swapped", NO_SWAP_COST), cost)
    return decided


def without_bound(attempt: Attempt) -> Attempt:
    """An attempt without the bound of a swap that was never signed, or can never land."""
    rest = attempt.copy()
    rest.pop("swapping", None)
    return rest


def swap_cost_after(attempt: Attempt, outcome: SwapOutcome) -> SwapCost | None:
    """What a swap that was decided took, at the prices of its bound; None if nothing.

    As long as no node has shown what it did, in an answer that agrees with itself, its bound
    counts. It counts more than that only if the chain shows that more has left.
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
    # What an earlier version has written has no prices: fees and rent alone are corrected.
    if prices is None or swap is None:
        return _with_fees(bound, bound, lamports)
    taken = int(outcome.get("inAmount", "0"))
    # What it brings beyond what was quoted is no credit: it takes one wrong number to claim it.
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
    return _with_fees(cost, bound, lamports)


def _loss_of(prices: SwapPrices, in_amount: int, out_amount: int) -> int:
    """What goes in beyond what comes back in a token that is sure to be worth something.

    All of it, if the output is not pinned.
    """
    paid = ceil_div(int(prices.get("input", "0")) * in_amount, _REFERENCE)
    got = int(prices.get("output", "0")) * out_amount // _REFERENCE
    return max(0, paid - got)


def _bought_by(price: Mapping[str, Any], out_amount: int) -> int:
    """The share of the price that was bought with what is counted already."""
    units = int(price["amount"])
    # A swap that is for no payment buys none.
    if units == 0:
        return 0
    return int(price.get("microUsd") or "0") * min(out_amount, units) // units


def _with_fees(cost: SwapCost, bound: SwapCost, taken: int) -> SwapCost:
    """Fees and rent of one swap, at the price of SOL that its bound was reckoned with."""
    most = int(bound["lamports"])
    micro_usd = 0 if most == 0 else ceil_div(int(bound["feeMicroUsd"]) * taken, most)
    return {**cost, "swaps": 1, "feeMicroUsd": str(micro_usd), "lamports": str(taken)}


def _unknown(mint: Address, cause: Exception | None = None) -> ExactChangeError:
    why = "Set policy.max_in_amount for the token to swap from."
    if cause is not None:
        why = "Jupiter could not be asked; try again."
    return failure(
        "price_unknown",
        f"No price is known for mint {mint}, so no dollar cap can hold what the swap takes. {why}",
        {"mint": mint},
        retry=None if cause is None else "fresh",
        cause=cause,
    )
