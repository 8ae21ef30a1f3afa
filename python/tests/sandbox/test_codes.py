"""Refusals that other tests do not show: each has its code, and costs nothing."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from solders.keypair import Keypair

from exact_change import ExactChangeError

from ..conftest import MakeClient, MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import failure_of
from ..seller import offer, terms

STRANGER = str(Keypair.from_seed(b"\5" * 32).pubkey())
SWAPS: dict[str, Any] = {"SOL": "0.5", "USDT": "5", "auto_swap": True, "swap_from": ["USDT"]}

OFFERS: dict[str, Callable[[Sandbox], list[Any]]] = {
    "unsupported_network": lambda sandbox: [offer(sandbox, network="eip155:8453")],
    "no_payable_offer": lambda sandbox: [
        offer(sandbox, network="eip155:8453"),
        offer(sandbox, scheme="upto"),
    ],
    "unknown_mint": lambda sandbox: [offer(sandbox, STRANGER)],
    "payee_account_missing": lambda sandbox: [offer(sandbox, payTo=STRANGER)],
}


@pytest.mark.parametrize("code", list(OFFERS))
def test_an_offer_that_cannot_be_paid(
    code: str, sandbox: Sandbox, make_seller: MakeSeller, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1", SOL="0.1")
    seller = make_seller(lambda _: terms(*OFFERS[code](sandbox)))
    error = failure_of(lambda: payer.client.get(seller.url), code)
    assert (error.funds, payer.signed, payer.used) == ("untouched", [], "0")


RULES: dict[str, tuple[str, Callable[[Sandbox], dict[str, Any]]]] = {
    "a host that is not listed": (
        "not_allowed",
        lambda _: {"allow": {"hosts": ["api.example.com"]}},
    ),
    "a payee that is denied": (
        "not_allowed",
        lambda sandbox: {"deny": {"payees": [sandbox.merchant]}},
    ),
    "no lamports for fees": ("fees_over_limit", lambda _: {"max_fee_lamports": 1_000}),
    "no lamports for rent": ("fees_over_limit", lambda _: {"max_rent_lamports": 1_000}),
    "no price impact": ("price_impact_too_high", lambda _: {"max_price_impact_bps": 0}),
}


@pytest.mark.parametrize("name", list(RULES))
def test_a_rule_of_the_caller_forbids_it(
    name: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    code, policy = RULES[name]
    payer = make_payer(**SWAPS, policy=policy(sandbox))
    before = payer.held("USDT")
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), code)
    assert (error.funds, payer.signed, payer.held("USDT")) == ("untouched", [], before)
    assert payer.used == "0"


class BadSigner:
    """Answers with whatever it is made with."""

    def __init__(self, address: str, answer: Callable[[bytes], Any]) -> None:
        self.address = address
        self._answer = answer

    def sign_message(self, message: bytes, intent: object) -> Any:
        return self._answer(message)


def raises(_: bytes) -> bytes:
    raise OSError("The device was unplugged.")


OTHER = Keypair.from_seed(b"\6" * 32)


@pytest.mark.parametrize(
    "answer",
    [
        raises,
        lambda _: None,
        lambda _: bytes(64),
        lambda _: "5" * 88,
        lambda message: bytes(OTHER.sign_message(message)),
    ],
)
def test_a_signer_that_does_not_sign_what_it_was_given(
    answer: Callable[[bytes], Any], sandbox: Sandbox, make_client: MakeClient
) -> None:
    wallet = sandbox.wallet(USDC="1")
    signer = BadSigner(wallet.address, answer)
    client = make_client(wallet, wallet_secret_key=None, signer=signer)
    with pytest.raises(ExactChangeError) as caught:
        client.get(f"{sandbox.api_url}/usdc")
    error = caught.value
    assert (error.code, error.funds) == ("signing_failed", "untouched")
    assert client.spent()[0].used == "0"
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000


def test_a_node_of_another_network_is_no_word_on_this_one(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    devnet = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
    payer = make_payer(USDC="1", network="devnet")
    seller = make_seller(lambda _: terms(offer(sandbox, network=devnet)))
    error = failure_of(lambda: payer.client.get(seller.url), "rpc_wrong_network")
    assert (error.funds, payer.signed) == ("untouched", [])
