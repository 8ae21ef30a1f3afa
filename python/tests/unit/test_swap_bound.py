"""The cost that a swap reserves in the caps before it is signed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from exact_change._base.network import SOLANA_MAINNET, WSOL_MINT
from exact_change._firewall.expected import Relay
from exact_change._kernel.hosts import threads
from exact_change._payments.costs import cost_for
from exact_change._payments.memory import Memory, PriceSeen
from exact_change._payments.prices import UsdPrice, at_par
from exact_change._payments.swap_cost import SwapTaking, swap_bound, taking_of, with_swap_cost
from exact_change._policy.cost import plus_swap
from exact_change._swap.prepare import SwapOutlook
from exact_change._swap.types import ReservedAmounts, SwapBounds

USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
USDT = "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"
BONK = "DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263"


def context(unpriced: str | None = None) -> Any:
    """Returns a context in which ten base units of BONK or of SOL are worth 1 micro-USD."""
    memory = Memory()
    for mint in (BONK, WSOL_MINT):
        memory.prices[mint] = (PriceSeen(10**13, 10**12, 0),)
    if unpriced is not None:
        del memory.prices[unpriced]
        memory.unpriced[unpriced] = 0
    policy = SimpleNamespace(max_in_amount={BONK: 10**6})
    runtime = SimpleNamespace(now=lambda: 0)
    config = SimpleNamespace(network=SOLANA_MAINNET, policy=policy, runtime=runtime)
    return SimpleNamespace(config=config, memory=memory, now=lambda: 0)


@pytest.mark.parametrize(
    ("leeway", "loss", "inputs", "bought"),
    [
        (50, "1000", {USDT: "1000"}, "3"),
        # Payments may take 20 more BONK, worth 2 micro-USD; each step rounds up.
        (100, "1004", {USDT: "1000", BONK: "20"}, "0"),
    ],
)
def test_credits_nothing_when_the_output_token_is_not_pinned(
    leeway: int, loss: str, inputs: Any, bought: str
) -> None:
    """Payments in flight may take less than the swap brings, or more."""
    taking = SwapTaking(USDT, BONK, 1_000, 80, 5_000, leeway)
    cost = threads.run(swap_bound(context(), taking, {"amount": "1000", "microUsd": "100"}, None))
    assert (cost["lossMicroUsd"], cost["inputs"], cost["boughtMicroUsd"]) == (loss, inputs, bought)
    assert "output" not in cost.get("prices", {})


@pytest.mark.parametrize(
    ("fee_in", "max_in", "min_out"), [(USDT, 1_007, 80), (BONK, 1_000, 73), (WSOL_MINT, 1_000, 80)]
)
def test_counts_the_fee_of_a_relayer_in_the_input_or_in_the_output(
    fee_in: str, max_in: int, min_out: int
) -> None:
    bounds = SwapBounds(USDT, BONK, 1_000, 80, 50)
    relay = Relay("fee payer", "payee", fee_in, 7)
    outlook = SwapOutlook(
        bounds, "source", "output", (0, 0), ReservedAmounts(), 0, 0, 0, 0, 0, relay
    )
    taking = taking_of(outlook)
    assert (taking.max_in, taking.min_out) == (max_in, min_out)


def test_states_no_dollars_if_a_part_of_the_cost_has_no_price() -> None:
    attempt: Any = {"mint": USDC, "amount": "1000", "microUsd": "100"}
    taking = SwapTaking(BONK, USDC, 1_000, 80, 5_000)
    priced = threads.run(swap_bound(context(), taking, attempt, None))
    assert cost_for({**attempt, "swapping": priced}, 0).usd is not None
    for mint in (BONK, WSOL_MINT):
        unknown = context(unpriced=mint)
        bound = threads.run(swap_bound(unknown, taking, attempt, None))
        assert cost_for({**attempt, "swapping": bound}, 0).usd is None
        swap = {"inputMint": BONK, "quoted": {"outAmount": "90"}}
        amounts = {"inAmount": "900", "outAmount": "90", "feeLamports": "5000", "rentLamports": "0"}
        landed: Any = {"state": "confirmed", **amounts}
        signed: Any = {**attempt, "swapping": bound, "swap": swap}
        after = with_swap_cost(signed, landed)
        assert cost_for(after, 0).usd is None
        both: Any = {**after, "swapped": plus_swap(after["swapped"], priced)}
        assert cost_for(both, 0).usd is None


def test_gives_a_relayer_no_base_unit_that_is_worth_more_than_its_fee() -> None:
    last = PriceSeen(1, 100_000_000, 0)
    price = UsdPrice(last, last)
    assert [price.amount_of(usd) for usd in (500_000, 100_000_000, 250_000_000)] == [0, 1, 2]
    assert at_par(2).amount_of(15_000) == 1
