"""Payment terms as they came, and offers in our words."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from typing_extensions import Literal

from .._solana.address import Address

X402Version = Literal[1, 2]
JsonObject = Mapping[str, Any]


class PaymentRequired:
    """The decoded 402 envelope. Everything in it is the seller's word.

    Made by reading alone, so that whatever is one is bounded and from where it says.
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
        # The URL that answered, if known.
        self.url: str | None = None
        # The v1 body that came beside this v2 header: used if nothing in the header is payable.
        self.fallback: PaymentRequired | None = None

    def __repr__(self) -> str:
        return f"PaymentRequired(version={self.version}, offers={len(self.accepts)})"


class Offer(NamedTuple):
    """One entry of ``accepts``, after every check that needs no chain."""

    position: int
    version: X402Version
    # CAIP-2.
    network: str
    # Base units.
    amount: int
    mint: Address
    # Owner of the receiving token account.
    pay_to: Address
    # The facilitator's key: pays the network fee, and signs first.
    fee_payer: Address
    # The seller's memo, at most 256 UTF-8 bytes.
    memo: str | None
    # Whether a memo of ours belongs into the payment if the seller names none.
    takes_memo: bool
    # A blockhash that the seller's facilitator offers (v2 only).
    recent_blockhash: str | None
    # What the seller says of the mint's decimals: held against the chain, and used for nothing.
    claimed_decimals: Any
    # Seconds, 5 to 300.
    max_timeout_seconds: int
    # The entry itself, echoed as `accepted`.
    raw: JsonObject


class Settlement(NamedTuple):
    """The seller's word on the settlement: x402 v2 5.3.2."""

    success: bool
    # The claimed transaction signature; empty if none.
    transaction: str
    network: str
    payer: str | None = None
    # A reason of the specification such as `insufficient_funds`, or the seller's text, cleaned.
    error_reason: str | None = None


class PaymentHeader(NamedTuple):
    """A payment that is ready to present: ``PAYMENT-SIGNATURE`` or ``X-PAYMENT``."""

    name: str
    value: str


class SellersWord(NamedTuple):
    """What an answer to a paid request says of its payment."""

    settlement: Settlement | None
    # Why it was refused, in the seller's own words.
    reason: str | None
    # It has terms that servers send before they settle: those of version 2 (x402.md 5.1).
    has_terms: bool
