"""The facts that a payment is built from, and the built payment."""

from __future__ import annotations

from typing import NamedTuple

from .._solana.address import Address
from .types import Offer


class PaymentFacts(NamedTuple):
    offer: Offer
    payer: Address
    # The payer's associated token account of the mint.
    source: Address
    # The payee's associated token account of the mint.
    destination: Address
    token_program: Address
    # From the mint on chain, never from the seller.
    decimals: int
    blockhash: str
    # 16 random bytes that make the payment unique.
    nonce: bytes
    # Micro-lamports per compute unit, used if the memo is not the nonce. It grows with each payment
    # of a blockhash, so that no two payments are equal.
    price: int


class BuiltPayment(NamedTuple):
    """A serialized v0 message for two signers: the offer's fee payer, then the payer."""

    message: bytes
    # The payment's memo, with which the code finds the payment on chain.
    memo: str | None
