"""Swap transactions of another party, which are inspected before a wallet signs them."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

import httpx
import pytest
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from exact_change import ExactChangeError, inspect_swap, inspect_swap_async

from ..node import Sandbox, Wallet
from ..payer import failure_of, until

# Mode of the venue that takes more than the agreed input.
OVERCHARGE = 10


class Foreign(NamedTuple):
    """A transaction that a service built, with the options of its inspection."""

    wallet: Wallet
    transaction: str
    options: Any


def built(sandbox: Sandbox, slippage_bps: int = 50) -> Foreign:
    """Gets a swap of 2 USDC for USDT from Jupiter."""
    wallet = sandbox.wallet(SOL="0.5", USDC="20")
    params = {
        "inputMint": sandbox.mint("USDC"),
        "outputMint": sandbox.mint("USDT"),
        "amount": "2000000",
        "slippageBps": str(slippage_bps),
        "swapMode": "ExactIn",
    }
    quote = httpx.get(f"{sandbox.jupiter_url}/swap/v1/quote", params=params).json()
    body = {"userPublicKey": wallet.address, "quoteResponse": quote}
    made = httpx.post(f"{sandbox.jupiter_url}/swap/v1/swap", json=body).json()
    options = {
        "wallet": wallet.address,
        "input_mint": "USDC",
        "output_mint": "USDT",
        "max_in_amount": 2_000_000,
        "min_out_amount": quote["otherAmountThreshold"],
        "rpc_url": sandbox.rpc_url,
    }
    return Foreign(wallet, made["swapTransaction"], options)


def land(sandbox: Sandbox, wallet: Wallet, transaction: str) -> None:
    message = VersionedTransaction.from_bytes(base64.b64decode(transaction)).message
    signed = VersionedTransaction(message, [Keypair.from_base58_string(wallet.secret_key)])
    wire = base64.b64encode(bytes(signed)).decode()
    call = {"jsonrpc": "2.0", "id": 1, "method": "sendTransaction"}
    sent = httpx.post(sandbox.rpc_url, json={**call, "params": [wire, {"encoding": "base64"}]})
    assert "result" in sent.json(), sent.text


def test_accepts_a_sound_swap_and_returns_a_guarded_form_that_lands(sandbox: Sandbox) -> None:
    wallet, transaction, options = built(sandbox)
    verdict = inspect_swap(transaction, **options)
    assert (verdict.accepted, verdict.broken, verdict.guarded) == (True, None, False)
    assert verdict.leaves is not None and verdict.leaves == (sandbox.mint("USDC"), "2000000")
    assert verdict.arrives is not None and verdict.arrives.mint == sandbox.mint("USDT")
    assert verdict.fees is not None and int(verdict.fees.rent) > 0
    assert {rule.outcome for rule in verdict.rules if rule.id != "guard"} == {"passed"}
    assert "Jupiter" in [program.name for program in verdict.programs]
    assert "It takes at most 2 USDC" in verdict.summary
    assert json.loads(json.dumps(verdict.to_dict()))["accepted"] is True
    assert verdict.recomposed is not None

    again = inspect_swap(verdict.recomposed.transaction, **options)
    assert (again.accepted, again.guarded, again.recomposed) == (True, True, None)
    assert "ends in a guard" in again.summary
    land(sandbox, wallet, verdict.recomposed.transaction)
    least = int(options["min_out_amount"])
    until("the swap landed", lambda: sandbox.balance(wallet.address, "USDT") >= least)
    assert sandbox.balance(wallet.address, "USDC") == 18_000_000


async def test_returns_the_same_verdict_on_an_event_loop(sandbox: Sandbox) -> None:
    _, transaction, options = built(sandbox)
    verdict = await inspect_swap_async(base64.b64decode(transaction), **options)
    same = inspect_swap(transaction, **options)
    assert verdict._replace(recomposed=None) == same._replace(recomposed=None)


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"max_in_amount": 1_900_000}, "swap_max_in"),
        ({"min_out_amount": 2_100_000}, "swap_min_out"),
    ],
)
def test_refuses_a_swap_beyond_its_bounds_and_recomposes_nothing(
    changed: Any, rule: str, sandbox: Sandbox
) -> None:
    _, transaction, options = built(sandbox)
    verdict = inspect_swap(transaction, **{**options, **changed})
    assert not verdict.accepted and verdict.broken is not None
    assert (verdict.broken.id, verdict.recomposed) == (rule, None)
    assert verdict.summary.startswith("Do not sign it: ")


def test_refuses_a_swap_that_may_bring_nothing(sandbox: Sandbox) -> None:
    _, transaction, options = built(sandbox, slippage_bps=10_000)
    verdict = inspect_swap(transaction, **{**options, "min_out_amount": 1})
    assert verdict.broken is not None and verdict.broken.id == "swap_min_out"


def test_returns_a_verdict_for_the_swap_of_another_wallet_and_for_invalid_bytes(
    sandbox: Sandbox,
) -> None:
    _, transaction, options = built(sandbox)
    other = {**options, "wallet": sandbox.wallet(SOL="0.1").address}
    rows: list[tuple[str | bytes, Any, str]] = [
        (transaction, other, "transaction_fee_payer"),
        ("no transaction", options, "transaction_encoding"),
        (b"\x01" * 200, options, "transaction_encoding"),
    ]
    for swap, with_options, rule in rows:
        verdict = inspect_swap(swap, **with_options)
        assert verdict.broken is not None and verdict.broken.id == rule
        assert (verdict.leaves, verdict.fees, verdict.recomposed) == (None, None, None)


def test_refuses_a_venue_that_overcharges_in_the_simulation(sandbox: Sandbox) -> None:
    _, transaction, options = built(sandbox)
    sandbox.call("venue", {"modes": [OVERCHARGE], "amount": "1"})
    try:
        verdict = inspect_swap(transaction, **options)
    finally:
        sandbox.call("venue", {})
    assert (verdict.accepted, verdict.recomposed) == (False, None)


def test_raises_a_transport_error_when_the_node_does_not_answer(sandbox: Sandbox) -> None:
    _, transaction, options = built(sandbox)
    unreachable = {**options, "rpc_url": "http://127.0.0.1:1", "timeouts": {"rpc": 500}}
    with pytest.raises(ExactChangeError) as caught:
        inspect_swap(transaction, **unreachable)
    assert type(caught.value).__name__ == "TransportError"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"wallet": "me"}, "invalid_option"),
        ({"output_mint": "USDC"}, "invalid_option"),
        ({"max_in_amount": 0}, "invalid_option"),
        ({"slippage_bps": True}, "invalid_option"),
        ({"max_fee_lamport": 1}, "invalid_option"),
        ({"max_fee_lamports": 4_999}, "fees_over_limit"),
    ],
)
def test_refuses_a_wrong_option(changed: Any, code: str, sandbox: Sandbox) -> None:
    _, transaction, options = built(sandbox)
    failure_of(lambda: inspect_swap(transaction, **{**options, **changed}), code)
