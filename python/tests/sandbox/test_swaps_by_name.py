"""Swaps that the caller asks for: counted, and no worse than what was approved."""

from __future__ import annotations

from typing import Any

import pytest

from exact_change import AsyncClient, ExactChangeError

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import failure_of

ORDERS: list[Any] = [
    {"input_mint": "SOL", "output_mint": "USDC", "ui_amount": "0.1"},
    {"input_mint": "SOL", "output_mint": "USDC", "ui_amount": "15", "swap_mode": "ExactOut"},
]
BOTH = pytest.mark.parametrize("order", ORDERS, ids=["ExactIn", "ExactOut"])


def move(sandbox: Sandbox, bps: int) -> None:
    """Takes so many basis points off the price of SOL."""
    price = int(sandbox.mints["SOL"]["picoUsd"])
    sandbox.call("setPrice", "SOL", str(price * (10_000 - bps) // 10_000))


@BOTH
def test_it_is_made_within_its_bounds_if_the_price_moves_a_little(
    order: Any, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="1", USDC="0")
    approved = payer.client.quote(**order)
    move(sandbox, 20)
    swapped = payer.client.swap(**order, no_worse_than=approved)
    assert int(swapped.in_amount) <= approved.max_in
    assert payer.held() >= approved.min_out


@BOTH
@pytest.mark.parametrize("counted", [False, True])
def test_it_is_not_signed_if_the_price_moves_past_it(
    order: Any, counted: bool, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="1", USDC="0")
    quote = payer.client.quote(**order)
    bounds = {"max_in_amount": quote.max_in_amount, "min_out_amount": quote.min_out_amount}
    move(sandbox, 60)
    error = failure_of(
        lambda: payer.client.swap(**order, no_worse_than=bounds, counted=counted),
        "approval_refused",
    )
    assert (error.funds, error.retry, error.details["reason"]) == ("untouched", "fresh", "changed")
    assert (payer.signed, payer.used) == ([], "0")


async def test_it_holds_on_an_event_loop_too(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(SOL="1", USDC="0")
    async with AsyncClient(**sandbox.options(wallet)) as client:
        approved = await client.quote(**ORDERS[0])
        move(sandbox, 60)
        with pytest.raises(ExactChangeError) as caught:
            await client.swap(**ORDERS[0], no_worse_than=approved)
    assert caught.value.code == "approval_refused"
    assert sandbox.balance(wallet.address, "USDC") == 0


def test_it_brings_nothing_rather_than_less(sandbox: Sandbox, make_payer: MakePayer) -> None:
    """If the venue moves further after the last quote."""
    payer, order = make_payer(SOL="1", USDC="0"), ORDERS[0]
    approved = payer.client.quote(**order)
    move(sandbox, 30)
    sandbox.call("venue", {"deviationBps": -40})
    with pytest.raises(ExactChangeError):
        payer.client.swap(**order, no_worse_than=approved)
    assert payer.held() == 0
    # Without it this is within the slippage of a new quote.
    payer.client.swap(**order)
    assert payer.held() < approved.min_out


@pytest.mark.parametrize(
    "bounds",
    [
        {},
        {"max_in_amount": "all", "min_out_amount": "0"},
        {"max_in_amount": 1, "min_out_amount": "0"},
        {"max_in_amount": "1"},
        "any",
    ],
    ids=str,
)
def test_a_bound_that_is_none_is_refused(bounds: Any, make_payer: MakePayer) -> None:
    payer = make_payer(SOL="1")
    error = failure_of(
        lambda: payer.client.swap(**ORDERS[0], no_worse_than=bounds), "invalid_option"
    )
    assert error.details["option"] == "no_worse_than"
    assert payer.signed == []


def test_a_counted_swap_takes_of_the_caps_what_it_loses(make_payer: MakePayer) -> None:
    payer = make_payer(SOL="1", USDC="1")
    payer.client.swap(**ORDERS[0])
    assert payer.used == "0"
    swapped = payer.client.swap(**ORDERS[0], counted=True)
    # 0.1 SOL are 15 dollars. Prices are within a percent, and the dearer one counts.
    assert 15 - int(swapped.out_amount) / 1e6 < float(payer.used) < 0.3
    assert payer.client.resume() == []


def test_a_counted_swap_is_refused_before_it_is_signed(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    policy = {"limits": [{"swaps": 1, "per": "day"}], "max_per_payment": "0.30"}
    payer = make_payer(SOL="1", USDC="1", policy=policy)
    # Into a token that is not pinned, all of it counts.
    bonk: Any = {"input_mint": "SOL", "output_mint": sandbox.mint("BONK"), "ui_amount": "0.01"}
    failure_of(lambda: payer.client.swap(**bonk, counted=True), "amount_over_limit")
    assert payer.signed == []
    usdc = {**ORDERS[0], "ui_amount": "0.001"}
    payer.client.swap(**usdc, counted=True)
    failure_of(lambda: payer.client.swap(**usdc, counted=True), "budget_exhausted")
    assert payer.signed == ["swap"]


def test_a_counted_swap_leaves_nothing_counted_if_nothing_was_signed(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="1", USDC="1")
    sandbox.call("aggregator.noRoute", "SOL", "USDC")
    with pytest.raises(ExactChangeError):
        payer.client.swap(**ORDERS[0], counted=True)
    assert (payer.used, payer.signed) == ("0", [])


def test_a_quote_is_not_counted(make_payer: MakePayer) -> None:
    payer = make_payer(SOL="1")
    order: Any = {**ORDERS[0], "counted": True}
    failure_of(lambda: payer.client.quote(**order), "invalid_option")
