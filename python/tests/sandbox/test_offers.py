"""Offers that the chain contradicts."""

from __future__ import annotations

import base64

from solders.transaction import VersionedTransaction

from exact_change._solana.tokens import associated_token_address

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import Payer, failure_of
from ..seller import Seller, offer, selling, terms


def refusal(payer: Payer, seller: Seller) -> object:
    """Why the offer of a seller is not paid. Nothing is signed for it."""
    error = failure_of(lambda: payer.client.get(seller.url), "unsupported_offer")
    assert payer.signed == []
    return error.details["reason"]


def test_a_payee_that_is_a_token_account_is_not_paid(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """Not even if it has an account of its own: nothing could ever leave that."""
    payer, usdc = make_payer(USDC="1"), sandbox.mints["USDC"]
    account = associated_token_address(sandbox.merchant, usdc["address"], usdc["tokenProgram"])
    sandbox.call("fundToken", account, "USDC", "1")
    seller = make_seller(lambda _: terms(offer(sandbox, payTo=account)))
    assert refusal(payer, seller) == "payee is a token account"


def test_an_offer_that_counts_in_other_decimals_is_not_paid(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    extra = {"feePayer": sandbox.fee_payer, "decimals": 9}
    seller = make_seller(lambda _: terms(offer(sandbox, extra=extra)))
    assert refusal(payer, seller) == "claims other decimals than its mint has"


def test_a_blockhash_that_a_seller_made_up_is_not_signed(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """No node could tell when the payment can land no more."""
    payer, made_up = make_payer(USDC="1"), sandbox.fee_payer
    extra = {"feePayer": sandbox.fee_payer, "recentBlockhash": made_up}
    seller = make_seller(selling(sandbox, offer(sandbox, extra=extra)))
    assert payer.client.get(seller.url).status_code == 200
    sent = base64.b64decode(seller.paid[0].payment["payload"]["transaction"])
    assert str(VersionedTransaction.from_bytes(sent).message.recent_blockhash) != made_up
