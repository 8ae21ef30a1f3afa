"""An honest relayer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exact_change import AsyncClient, receipt_of

from ...conftest import MakePayer
from ...node import Sandbox
from ...payer import failure_of
from ...seller import Seen
from ..test_wallets import ChangingWallet, with_guard
from .conftest import HELD, MAX_FEE, Broke, MakeProxy, untouched


@pytest.mark.parametrize(("symbol", "amount"), [("USDT", "5"), ("BONK", "500000")])
def test_buys_from_a_wallet_without_sol(symbol: str, amount: str, broke: Broke) -> None:
    payer = broke(**{symbol: amount})
    before = payer.held(symbol)
    receipt = broke.pay(payer)
    swap, mint = receipt.swap, broke.sandbox.mint(symbol)
    assert swap is not None and swap.relay_fee is not None
    assert (swap.input_mint, swap.relay_fee.mint) == (mint, mint)
    assert before - payer.held(symbol) == int(swap.in_amount)
    assert payer.held("USDC") == int(swap.out_amount) - 10_000
    assert payer.held("SOL") == 0
    assert int(swap.relay_fee.amount) > 0
    # The rent of a token account at 150 dollars for 1 SOL, and a tenth of it for the relayer.
    assert receipt.cost.usd is not None and 0.3 < float(receipt.cost.usd) < 0.51
    assert (receipt.cost.network_fee_lamports, receipt.cost.rent_lamports) == ("0", "0")
    assert float(payer.used) == float(receipt.cost.usd)
    (confirmed,) = (event.details for event in payer.events if event.type == "swap.confirmed")
    assert confirmed["relay_fee"] == swap.relay_fee
    (listed,) = payer.client.receipts()
    assert listed.swap == swap
    # The rest of the swap pays the next call without the relayer.
    calls = broke.sandbox.call("relayer.calls")
    assert broke.pay(payer).swap is None
    assert broke.sandbox.call("relayer.calls") == calls


async def test_buys_from_a_wallet_without_sol_on_an_event_loop(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(USDT="5")
    options = sandbox.options(wallet, auto_swap=True, relayer={"url": sandbox.relayer_url})
    async with AsyncClient(**options) as client:
        response = await client.get(f"{sandbox.api_url}/usdc")
        receipt = receipt_of(response)
    assert response.status_code == 200 and receipt is not None
    assert receipt.swap is not None and receipt.swap.relay_fee is not None
    assert sandbox.balance(wallet.address, "SOL") == 0


def test_takes_the_relay_fee_from_the_output_if_the_relayer_accepts_only_that_token(
    broke: Broke,
) -> None:
    usdc = broke.sandbox.mint("USDC")
    broke.sandbox.call("relayer.accept", [usdc])
    payer = broke(BONK="500000")
    swap = broke.pay(payer).swap
    assert swap is not None and swap.relay_fee is not None and swap.relay_fee.mint == usdc
    assert (payer.held("SOL"), payer.held("USDC")) == (0, int(swap.out_amount) - 10_000)


def test_relays_a_swap_that_the_caller_orders(broke: Broke) -> None:
    payer = broke()
    swapped = payer.client.swap(input_mint="USDT", output_mint="SOL", ui_amount="2")
    assert swapped.fee_lamports == "0" and swapped.relay_fee is not None
    assert payer.held("SOL") >= int(swapped.out_amount)
    assert HELD - payer.held("USDT") == int(swapped.in_amount)


def test_signs_no_swap_when_the_relay_fee_exceeds_the_approved_quote(broke: Broke) -> None:
    payer = broke()
    order: Any = {"input_mint": "USDT", "output_mint": "SOL", "amount": "1000000"}
    quote = payer.client.quote(**order)
    error = failure_of(lambda: payer.client.swap(**order, no_worse_than=quote), "approval_refused")
    assert (error.details["reason"], error.retry) == ("changed", "fresh")
    assert (payer.held("USDT"), payer.signed, broke.signed) == (HELD, [], [])


def test_makes_no_call_of_the_relayer_when_the_wallet_has_enough_sol(broke: Broke) -> None:
    calls = broke.sandbox.call("relayer.calls")
    receipt = broke.pay(broke(USDT="5", SOL="0.1"))
    assert receipt.swap is not None and receipt.swap.relay_fee is None
    assert broke.sandbox.call("relayer.calls") == calls


def test_swaps_without_the_relayer_when_the_wallet_has_just_enough_sol(broke: Broke) -> None:
    receipt = broke.pay(broke(USDT="5", USDC="0.001", SOL="0.00092"))
    assert receipt.swap is not None and receipt.swap.relay_fee is None
    assert broke.signed == []


def test_leaves_a_small_amount_of_sol_unchanged_in_a_relayed_swap(broke: Broke) -> None:
    payer = broke(USDT="5", SOL="0.0001")
    receipt = broke.pay(payer)
    assert receipt.swap is not None and receipt.swap.relay_fee is not None
    assert payer.held("SOL") == 100_000


def test_shows_the_largest_relay_fee_to_approve(broke: Broke) -> None:
    plans: list[Any] = []

    def approve(plan: Any) -> bool:
        plans.append(plan)
        return True

    receipt = broke.pay(broke(policy={"approve": approve}))
    relayer = plans[0].relayer
    assert (relayer.mint, relayer.max_amount) == (broke.sandbox.mint("USDT"), str(MAX_FEE))
    assert float(plans[0].cost.usd) >= 0.51
    assert receipt.swap is not None and receipt.swap.relay_fee is not None
    assert int(receipt.swap.relay_fee.amount) < MAX_FEE


def test_requests_no_relayer_signature_for_a_refused_plan(broke: Broke) -> None:
    payer = broke(policy={"approve": lambda _plan: False})
    broke.refused(payer, "approval_refused")
    assert broke.signed == []
    untouched(payer)


@pytest.mark.parametrize(
    ("policy", "cap"),
    [
        ({"max_per_payment": "0.30"}, "max_per_payment"),
        ({"max_in_amount": {"USDT": "300000"}}, "max_in_amount"),
        ({"max_in_amount": {"USDT": "300000"}, "approve": lambda _plan: True}, "max_in_amount"),
    ],
)
def test_counts_the_relay_fee_in_caps_before_any_signature(
    policy: Any, cap: str, broke: Broke
) -> None:
    payer = broke(policy=policy)
    error = broke.refused(payer, "amount_over_limit")
    assert (error.details["cap"], broke.signed) == (cap, [])
    untouched(payer)


def test_ends_a_call_if_no_cap_has_room_for_a_fee_taken_from_the_output(broke: Broke) -> None:
    broke.sandbox.call("relayer.accept", [broke.sandbox.mint("USDC")])
    payer = broke(policy={"max_per_payment": "0.30"})
    error = broke.refused(payer, "amount_over_limit")
    assert (error.details["cap"], broke.signed) == ("max_per_payment", [])
    untouched(payer)


def test_needs_no_room_for_lamports_that_the_relayer_pays(broke: Broke) -> None:
    receipt = broke.pay(broke(policy={"max_lamports_per_day": "4000"}))
    assert receipt.swap is not None and receipt.swap.relay_fee is not None


def test_counts_the_relay_fee_in_the_daily_budget(broke: Broke) -> None:
    payer = broke(policy={"max_per_day": "0.52"})
    used = float(broke.pay(payer).cost.usd or 0)
    assert float(payer.used) == used
    error = failure_of(
        lambda: payer.client.get(f"{broke.sandbox.api_url}/pyusd"), "budget_exhausted"
    )
    assert error.details["cap"] == "max_per_day"
    assert (len(broke.signed), float(payer.used)) == (1, used)


def test_buys_with_a_wallet_that_signs_whole_transactions(broke: Broke) -> None:
    wallet = broke.sandbox.wallet(USDT="5")
    signer = ChangingWallet(wallet, lambda message: message)
    payer = broke.make(
        wallet,
        auto_swap=True,
        relayer={"url": broke.url},
        wallet_secret_key=None,
        signer=signer,
    )
    receipt = broke.pay(payer)
    assert receipt.swap is not None and receipt.swap.relay_fee is not None


def test_refuses_a_wallet_that_changes_a_transaction_of_the_relayer(broke: Broke) -> None:
    broke.sandbox.call("deployLighthouse")
    wallet = broke.sandbox.wallet(USDT="5")
    payer = broke.make(
        wallet,
        auto_swap=True,
        relayer={"url": broke.url},
        wallet_secret_key=None,
        signer=ChangingWallet(wallet, with_guard),
    )
    error = broke.refused(payer, "signing_failed")
    assert "relayer has signed already" in error.message
    assert (error.funds, payer.held("USDT")) == ("untouched", HELD)


def test_names_enough_sol_for_the_fees_of_a_busy_market_without_a_relayer(
    sandbox: Sandbox, make_proxy: MakeProxy, make_payer: MakePayer
) -> None:
    node = make_proxy(sandbox.rpc_url)

    def busy(answer: Any, seen: Seen) -> Any:
        if json.loads(seen.body)["method"] == "getRecentPrioritizationFees":
            answer["result"] = [{"slot": 1, "prioritizationFee": 40_000}]
        return answer

    node.lies["/"] = busy
    payer = make_payer(USDT="5", auto_swap=True, rpc_url=node.url)
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "insufficient_sol")
    assert "Send it at least" in error.message
    assert error.details["link"].startswith(f"solana:{payer.wallet.address}?amount=0.")
    required = error.details["required_lamports"]
    sandbox.call("fundSol", payer.wallet.address, required)
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
