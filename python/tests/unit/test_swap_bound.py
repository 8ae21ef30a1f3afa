"""The cost that a swap reserves in the caps before it is signed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from exact_change._base.network import SOLANA_MAINNET, WSOL_MINT
from exact_change._firewall.expected import Relay
from exact_change._kernel.hosts import threads
from exact_change._payments.memory import Memory, PriceSeen
from exact_change._payments.swap_cost import SwapTaking, swap_bound, taking_of
from exact_change._swap.prepare import SwapOutlook
from exact_change._swap.types import ReservedAmounts, SwapBounds

USDT = "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"
BONK = "DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263"


def context() -> Any:
    """Returns a context in which ten base units of BONK or of SOL are worth 1 micro-USD."""
    memory = Memory()
    for mint in (BONK, WSOL_MINT):
        memory.prices[mint] = (PriceSeen(10**13, 10**12, 0),)
    policy = SimpleNamespace(max_in_amount={})
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
