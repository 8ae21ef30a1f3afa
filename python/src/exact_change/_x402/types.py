"""Payment terms as the seller sent them, and offers in normalized fields."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from typing_extensions import Literal

from .._solana.address import Address

X402Version = Literal[1, 2]
JsonObject = Mapping[str, Any]


class PaymentRequired:
    """The decoded 402 envelope. Everything in it is what the seller claims.

    Only ``parse.py`` makes it, so its size is bounded and ``url`` is true.
    """

    __slots__ = ("accepts", "error", "extensions", "fallback", "resource", "url", "version")

    def __init__(
        self,
        version: X402Version,
        accepts: tuple[JsonObject, ...],
        error: str | None,
        resource: JsonObject | None,
        extensions: JsonObject | None,
    ) -> None:
        self.version: X402Version = version
        # Exactly as the seller sent them: x402 v2 5.1.2, or v1 with `maxAmountRequired`.
        self.accepts = accepts
        self.error = error
        self.resource = resource
        self.extensions = extensions
        # The URL that answered, if it is known.
        self.url: str | None = None
        # The v1 body beside this v2 header. It counts only if no offer in the header can be paid.
        self.fallback: PaymentRequired | None = None

    def __repr__(self) -> str:
        return f"PaymentRequired(version={self.version}, offers={len(self.accepts)})"


class Offer(NamedTuple):
    """One entry of ``accepts`` in normalized fields, after every check that needs no chain."""

    # Index in `accepts`.
    position: int
    version: X402Version
    # CAIP-2 id of the cluster.
    network: str
    # Base units of the mint.
    amount: int
    mint: Address
    # Owner of the token account that receives the payment.
    pay_to: Address
    # The facilitator's key: it pays the network fee and is the first signer.
    fee_payer: Address
    # The seller's memo, at most 256 UTF-8 bytes.
    memo: str | None
    # Whether the payment gets the wallet's nonce as its memo if the seller names no memo.
    takes_memo: bool
    # A blockhash that the seller's facilitator offers (v2 only).
    recent_blockhash: str | None
    # Decimals of the mint as the seller claims. They are compared with the chain and never used.
    claimed_decimals: Any
    # Seconds, 5 to 300.
    max_timeout_seconds: int
    # The entry as the seller sent it; the payment echoes it as `accepted`.
    raw: JsonObject


class Settlement(NamedTuple):
    """What the seller claims about the settlement: x402 v2 5.3.2."""

    success: bool
    # The claimed transaction signature; empty if none.
    transaction: str
    network: str
    payer: str | None = None
    # A reason of the spec, such as `insufficient_funds`, or the seller's own text, cleaned.
    error_reason: str | None = None


class PaymentHeader(NamedTuple):
    """A payment that is ready to present: one request header."""

    # `PAYMENT-SIGNATURE` or `X-PAYMENT`.
    name: str
    value: str


class SettlementClaim(NamedTuple):
    """What the seller says about the payment in its answer to a paid request."""

    settlement: Settlement | None
    # Why the seller refused the payment, in its own words.
    reason: str | None
    # Whether the answer has v2 terms, which servers send before they settle (x402.md 5.1).
    has_terms: bool


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
