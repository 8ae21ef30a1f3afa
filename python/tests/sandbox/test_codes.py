"""Refusals without another test: each has its own code and costs nothing."""

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
def test_refuses_an_offer_that_cannot_be_paid_with_its_code(
    code: str, sandbox: Sandbox, make_seller: MakeSeller, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1", SOL="0.1")
    seller = make_seller(lambda _: terms(*OFFERS[code](sandbox)))
    error = failure_of(lambda: payer.client.get(seller.url), code)
    assert (error.funds, payer.signed, payer.used) == ("untouched", [], "0")


RULES: dict[str, tuple[str, Callable[[Sandbox], dict[str, Any]]]] = {
    "an unlisted host": (
        "not_allowed",
        lambda _: {"allow": {"hosts": ["api.example.com"]}},
    ),
    "a denied payee": (
        "not_allowed",
        lambda sandbox: {"deny": {"payees": [sandbox.merchant]}},
    ),
    "no lamports for fees": ("fees_over_limit", lambda _: {"max_fee_lamports": 1_000}),
    "no lamports for rent": ("fees_over_limit", lambda _: {"max_rent_lamports": 1_000}),
    "no price impact": ("price_impact_too_high", lambda _: {"max_price_impact_bps": 0}),
}


@pytest.mark.parametrize("name", list(RULES))
def test_refuses_a_payment_that_a_policy_rule_forbids(
    name: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    code, policy = RULES[name]
    payer = make_payer(**SWAPS, policy=policy(sandbox))
    before = payer.held("USDT")
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), code)
    assert (error.funds, payer.signed, payer.held("USDT")) == ("untouched", [], before)
    assert payer.used == "0"


class BadSigner:
    """A signer that returns the result of a function as its signature."""

    def __init__(self, address: str, answer: Callable[[bytes], Any]) -> None:
        self.address = address
        self._answer = answer

    def sign_message(self, message: bytes, intent: object) -> Any:
        return self._answer(message)


def raises(_: bytes) -> bytes:
    raise OSError("The device was unplugged.")


OTHER_PAIR = Keypair.from_seed(b"\6" * 32)


@pytest.mark.parametrize(
    "answer",
    [
        raises,
        lambda _: None,
        lambda _: bytes(64),
        lambda _: "5" * 88,
        lambda message: bytes(OTHER_PAIR.sign_message(message)),
    ],
)
def test_fails_with_signing_failed_when_the_signature_is_missing_or_wrong(
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


def test_refuses_to_pay_when_the_node_belongs_to_another_network(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    devnet = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
    payer = make_payer(USDC="1", network="devnet")
    seller = make_seller(lambda _: terms(offer(sandbox, network=devnet)))
    error = failure_of(lambda: payer.client.get(seller.url), "rpc_wrong_network")
    assert (error.funds, payer.signed) == ("untouched", [])
