"""Every fact that a payment is made of."""

from __future__ import annotations

from typing import NamedTuple

from .._solana.address import Address
from .types import Offer


class PaymentFacts(NamedTuple):
    """Every fact that a payment is made of."""

    offer: Offer
    payer: Address
    # The payer's associated token account of the mint.
    source: Address
    # The payee's.
    destination: Address
    token_program: Address
    # From the mint on chain, never from the seller.
    decimals: int
    blockhash: str
    # 16 random bytes: what tells this payment from every other.
    nonce: bytes
    # Micro-lamports per compute unit if the memo is not ours: counted up per blockhash, so that
    # no two payments are equal.
    price: int


class BuiltPayment(NamedTuple):
    """A serialized v0 message for two signers: the offer's fee payer, then the payer."""

    message: bytes
    # The memo in it, by which the payment is found on chain.
    memo: str | None
