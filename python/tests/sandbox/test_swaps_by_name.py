"""Swaps that the caller orders: counted in caps, and no worse than an approved quote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exact_change import AsyncClient, ExactChangeError, file_journal

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import failure_of
from ..seller import offer, terms

# Mode of a venue that pays less: adapters/sandbox/venue/venue.mjs.
UNDERPAY = 6
ORDERS: list[Any] = [
    {"input_mint": "SOL", "output_mint": "USDC", "ui_amount": "0.1"},
    {"input_mint": "SOL", "output_mint": "USDC", "ui_amount": "15", "swap_mode": "ExactOut"},
]
BOTH = pytest.mark.parametrize("order", ORDERS, ids=["ExactIn", "ExactOut"])


def move(sandbox: Sandbox, bps: int) -> None:
    """Lowers the price of SOL by some basis points."""
    price = int(sandbox.mints["SOL"]["picoUsd"])
    sandbox.call("setPrice", "SOL", str(price * (10_000 - bps) // 10_000))


@BOTH
def test_swaps_within_the_approved_quote_when_the_price_moves_a_little(
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
def test_signs_no_swap_when_the_price_moves_past_the_approved_quote(
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


async def test_refuses_a_worse_price_than_approved_on_an_event_loop(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(SOL="1", USDC="0")
    async with AsyncClient(**sandbox.options(wallet)) as client:
        approved = await client.quote(**ORDERS[0])
        move(sandbox, 60)
        with pytest.raises(ExactChangeError) as caught:
            await client.swap(**ORDERS[0], no_worse_than=approved)
    assert caught.value.code == "approval_refused"
    assert sandbox.balance(wallet.address, "USDC") == 0


def test_makes_no_swap_when_the_venue_pays_less_than_approved(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    """The venue moves further after the last quote."""
    payer, order = make_payer(SOL="1", USDC="0"), ORDERS[0]
    approved = payer.client.quote(**order)
    move(sandbox, 30)
    sandbox.call("venue", {"deviationBps": -40})
    with pytest.raises(ExactChangeError):
        payer.client.swap(**order, no_worse_than=approved)
    assert payer.held() == 0
    # Without an approved quote, the loss is within the slippage of a new quote.
    payer.client.swap(**order)
    assert payer.held() < approved.min_out


@pytest.mark.parametrize("bounded", [True, False])
def test_lets_nothing_be_missing_beside_a_payment_in_flight(
    bounded: bool, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """With bounds of the caller, and with no cap that counts the swap."""
    asked = terms(offer(sandbox, amount="950000"))
    seller = make_seller(lambda seen: asked if seen.payment is None else None)
    order, policy = ORDERS[0], {"max_per_payment": "3.00"}
    payer = make_payer(SOL="1", USDC="0.95", policy=policy)
    failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    approved: Any = payer.client.quote(**order) if bounded else None
    sandbox.call("venue", {"modes": [UNDERPAY], "amount": "900000"})
    error = failure_of(
        lambda: payer.client.swap(**order, no_worse_than=approved, counted=bounded), "unsafe_swap"
    )
    assert (error.funds, payer.held()) == ("untouched", 950_000)


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
def test_refuses_an_invalid_no_worse_than_option(bounds: Any, make_payer: MakePayer) -> None:
    payer = make_payer(SOL="1")
    error = failure_of(
        lambda: payer.client.swap(**ORDERS[0], no_worse_than=bounds), "invalid_option"
    )
    assert error.details["option"] == "no_worse_than"
    assert payer.signed == []


def test_counts_the_loss_of_a_counted_swap_in_the_caps(make_payer: MakePayer) -> None:
    payer = make_payer(SOL="1", USDC="1")
    payer.client.swap(**ORDERS[0])
    assert payer.used == "0"
    swapped = payer.client.swap(**ORDERS[0], counted=True)
    # 0.1 SOL is 15 dollars. Two prices differ by up to 1 percent, and the higher price counts.
    assert 15 - int(swapped.out_amount) / 1e6 < float(payer.used) < 0.3
    assert payer.client.resume() == []


def test_refuses_a_counted_swap_over_a_cap_before_its_signature(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    policy = {"limits": [{"swaps": 1, "per": "day"}], "max_per_payment": "0.30"}
    payer = make_payer(SOL="1", USDC="1", policy=policy)
    # The whole input counts when the output token is not pinned.
    bonk: Any = {"input_mint": "SOL", "output_mint": sandbox.mint("BONK"), "ui_amount": "0.01"}
    failure_of(lambda: payer.client.swap(**bonk, counted=True), "amount_over_limit")
    assert payer.signed == []
    usdc = {**ORDERS[0], "ui_amount": "0.001"}
    payer.client.swap(**usdc, counted=True)
    failure_of(lambda: payer.client.swap(**usdc, counted=True), "budget_exhausted")
    assert payer.signed == ["swap"]


def test_binds_no_counted_swap_by_caps_for_each_host_or_payee(make_payer: MakePayer) -> None:
    each = [
        {"swaps": 1, "per": "hour", "host": "*"},
        {"usd": "0", "per": "hour", "payee": "*"},
    ]
    payer = make_payer(SOL="1", USDC="1", policy={"limits": each})
    for _ in range(2):
        payer.client.swap(**{**ORDERS[0], "ui_amount": "0.001"}, counted=True)
    assert [use.cap for use in payer.client.spent()] == ["max_per_day", "max_lamports_per_day"]


def test_counts_nothing_when_a_counted_swap_was_not_signed(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="1", USDC="1")
    sandbox.call("aggregator.noRoute", "SOL", "USDC")
    with pytest.raises(ExactChangeError):
        payer.client.swap(**ORDERS[0], counted=True)
    assert (payer.used, payer.signed) == ("0", [])


def test_tells_each_later_client_of_a_swap_that_may_still_land(
    sandbox: Sandbox, make_payer: MakePayer, tmp_path: Path
) -> None:
    sandbox.call("node.fault", "sendTransaction", {"kind": "neverLands"})
    with file_journal(str(tmp_path / "payments.jsonl")) as journal:
        payer = make_payer(SOL="1", journal=journal)
        payer.client.on("swap.signed", lambda _: payer.client.close())
        failure_of(lambda: payer.client.swap(**ORDERS[0], counted=True), "swap_uncertain")

        def states() -> list[str]:
            later = make_payer(payer.wallet, journal=journal)
            changed = later.client.resume()
            later.client.close()
            return [change.state for change in changed]

        assert [states(), states()] == [["abandoned"], ["abandoned"]]
        sandbox.call("node.clearFaults")
        sandbox.call("node.warp")
        assert [states(), states()] == [["unpaid"], []]


def test_refuses_the_counted_option_for_a_quote(make_payer: MakePayer) -> None:
    payer = make_payer(SOL="1")
    order: Any = {**ORDERS[0], "counted": True}
    failure_of(lambda: payer.client.quote(**order), "invalid_option")
