"""A relayer that does as it should."""

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
def test_a_wallet_without_sol_buys(symbol: str, amount: str, broke: Broke) -> None:
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
    # The rent of a token account, at 150 dollars a SOL, and a tenth for the relayer.
    assert receipt.cost.usd is not None and 0.3 < float(receipt.cost.usd) < 0.51
    assert (receipt.cost.network_fee_lamports, receipt.cost.rent_lamports) == ("0", "0")
    assert float(payer.used) == float(receipt.cost.usd)
    (told,) = (one.details for one in payer.events if one.type == "swap.confirmed")
    assert told["relay_fee"] == swap.relay_fee
    (listed,) = payer.client.receipts()
    assert listed.swap == swap
    # With what is there next, the relayer is not asked.
    calls = broke.sandbox.call("relayer.calls")
    assert broke.pay(payer).swap is None
    assert broke.sandbox.call("relayer.calls") == calls


async def test_it_pays_for_a_client_of_asyncio(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(USDT="5")
    options = sandbox.options(wallet, auto_swap=True, relayer={"url": sandbox.relayer_url})
    async with AsyncClient(**options) as client:
        response = await client.get(f"{sandbox.api_url}/usdc")
        receipt = receipt_of(response)
    assert response.status_code == 200 and receipt is not None
    assert receipt.swap is not None and receipt.swap.relay_fee is not None
    assert sandbox.balance(wallet.address, "SOL") == 0


def test_its_fee_comes_out_of_what_the_swap_brings_if_it_takes_no_other_token(
    broke: Broke,
) -> None:
    usdc = broke.sandbox.mint("USDC")
    broke.sandbox.call("relayer.accept", [usdc])
    payer = broke(BONK="500000")
    swap = broke.pay(payer).swap
    assert swap is not None and swap.relay_fee is not None and swap.relay_fee.mint == usdc
    assert (payer.held("SOL"), payer.held("USDC")) == (0, int(swap.out_amount) - 10_000)


def test_a_swap_by_name_is_relayed(broke: Broke) -> None:
    payer = broke()
    swapped = payer.client.swap(input_mint="USDT", output_mint="SOL", ui_amount="2")
    assert swapped.fee_lamports == "0" and swapped.relay_fee is not None
    assert payer.held("SOL") >= int(swapped.out_amount)
    assert HELD - payer.held("USDT") == int(swapped.in_amount)


def test_it_is_paid_no_more_than_what_was_approved(broke: Broke) -> None:
    payer = broke()
    order: Any = {"input_mint": "USDT", "output_mint": "SOL", "amount": "1000000"}
    quote = payer.client.quote(**order)
    error = failure_of(lambda: payer.client.swap(**order, no_worse_than=quote), "approval_refused")
    assert (error.details["reason"], error.retry) == ("changed", "fresh")
    assert (payer.held("USDT"), payer.signed, broke.signed) == (HELD, [], [])


def test_it_is_not_asked_if_there_is_sol_enough(broke: Broke) -> None:
    calls = broke.sandbox.call("relayer.calls")
    receipt = broke.pay(broke(USDT="5", SOL="0.1"))
    assert receipt.swap is not None and receipt.swap.relay_fee is None
    assert broke.sandbox.call("relayer.calls") == calls


def test_it_signs_nothing_if_there_is_just_enough_sol(broke: Broke) -> None:
    receipt = broke.pay(broke(USDT="5", USDC="0.001", SOL="0.00092"))
    assert receipt.swap is not None and receipt.swap.relay_fee is None
    assert broke.signed == []


def test_what_little_sol_there_is_stays_to_the_lamport(broke: Broke) -> None:
    payer = broke(USDT="5", SOL="0.0001")
    receipt = broke.pay(payer)
    assert receipt.swap is not None and receipt.swap.relay_fee is not None
    assert payer.held("SOL") == 100_000


def test_the_hook_that_approves_is_shown_the_most_that_it_takes(broke: Broke) -> None:
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


def test_it_signs_nothing_that_was_not_approved(broke: Broke) -> None:
    payer = broke(policy={"approve": lambda _plan: False})
    broke.refused(payer, "approval_refused")
    assert broke.signed == []
    untouched(payer)


@pytest.mark.parametrize(
    ("policy", "cap"),
    [
        ({"max_per_payment": "0.30"}, "max_per_payment"),
        ({"max_in_amount": {"USDT": "300000"}}, "max_in_amount"),
    ],
)
def test_its_fee_counts_before_anything_is_signed(policy: Any, cap: str, broke: Broke) -> None:
    payer = broke(policy=policy)
    error = broke.refused(payer, "amount_over_limit")
    assert (error.details["cap"], broke.signed) == (cap, [])
    untouched(payer)


def test_its_fee_takes_of_the_budget_of_a_day(broke: Broke) -> None:
    payer = broke(policy={"max_per_day": "0.52"})
    used = float(broke.pay(payer).cost.usd or 0)
    assert float(payer.used) == used
    error = failure_of(
        lambda: payer.client.get(f"{broke.sandbox.api_url}/pyusd"), "budget_exhausted"
    )
    assert error.details["cap"] == "max_per_day"
    assert (len(broke.signed), float(payer.used)) == (1, used)


def test_a_wallet_that_signs_transactions_signs_after_it(broke: Broke) -> None:
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


def test_a_wallet_that_changes_what_it_signed_is_refused(broke: Broke) -> None:
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


def test_without_one_the_least_sol_is_said_also_for_the_fee_of_a_busy_market(
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
