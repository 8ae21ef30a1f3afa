"""What quotes swaps, builds them, and reads balances."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from typing_extensions import Literal, Protocol

from .._config.swap_request import ResolvedRequest
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.types import SwapBuild, SwapQuote
from .._x402.offers import OfferRefusal
from .._x402.types import PaymentHeader


class TokenBalance(NamedTuple):
    """A balance, as text and as base units."""

    mint: Address
    # Decimal string of base units.
    amount: str
    decimals: int
    ui_amount: str
    token_program: Address
    # The associated token account; the wallet itself for native SOL.
    token_account: Address
    slot: int
    # Of a pinned mint alone, as `client.balance()` adds it.
    symbol: str | None = None


class SwapTransaction(NamedTuple):
    """An unsigned transaction for a quote."""

    # Base64 of the unsigned v0 transaction.
    transaction: str
    # Decimal string.
    last_valid_block_height: str
    quote: SwapQuote
    compute_unit_limit: int
    # Decimal string of lamports: what the compute-unit price costs at that limit.
    priority_fee_lamports: str


class ParsedOffer(NamedTuple):
    """One entry of ``accepts``, normalised. Not ``payable`` if ``refusal`` says why."""

    # Its place in the list.
    position: int
    x402_version: int
    payable: bool
    network: str | None = None
    mint: Address | None = None
    # Decimal string of base units.
    amount: str | None = None
    pay_to: Address | None = None
    fee_payer: Address | None = None
    refusal: OfferRefusal | None = None


class ParsedPayment(NamedTuple):
    """The offers of a 402."""

    x402_version: int
    offers: Sequence[ParsedOffer]


class UnsignedPayment(NamedTuple):
    """A payment that is to be signed."""

    # Base64.
    transaction: str
    last_valid_block_height: str


class MissingFunds(NamedTuple):
    """What a payment needs, and what there is of it; decimal strings of base units."""

    mint: Address
    required: str
    available: str


class PaymentResult(NamedTuple):
    """Where a payment stands, and what to sign or send next."""

    # The last three, if the service keeps a journal: what became of a payment that it was handed
    # before.
    state: Literal[
        "swap_required",
        "swap_submitted",
        "ready_to_sign",
        "ready_to_present",
        "insufficient_funds",
        "submitted",
        "settled",
        "failed",
    ]
    offer: ParsedOffer
    # The attempt's, if it is on record.
    id: str | None = None
    # `swap_required`: sign its transaction and send it back as `signed_swap`.
    swap: SwapTransaction | None = None
    # `swap_submitted`: the swap's, still unconfirmed: ask again. `settled`: the payment's, as the
    # service's own node shows it.
    signature: str | None = None
    # `ready_to_sign`: sign it and send it back as `signed_payment`.
    payment: UnsignedPayment | None = None
    # `ready_to_present`: repeat the request with this header.
    header: PaymentHeader | None = None
    # Of a payment on record: the wallet's own signature on it, base58.
    payer_signature: str | None = None
    # Of a payment on record: once this block height is final, it can land no more.
    last_valid_block_height: str | None = None
    # `insufficient_funds`.
    funds: MissingFunds | None = None


class Transport(Protocol):
    """What it returns is a hint: the client judges, signs, sends and confirms by itself."""

    @property
    def is_distant(self) -> bool:
        """Whether each call is a round trip to a service.

        A client that has to swap then asks for one plan before it asks for a quote and a build.
        """
        ...

    def quote(self, request: ResolvedRequest, signal: Signal | None) -> Steps[SwapQuote]:
        """A quote."""
        ...

    def build(
        self, wallet: Address, quote: SwapQuote, signal: Signal | None
    ) -> Steps[SwapBuild | Any]:
        """The one swap instruction of a quote, or an unsigned transaction in base64."""
        ...

    def balance(
        self, wallet: Address, mints: Sequence[Address] | None, signal: Signal | None
    ) -> Steps[list[TokenBalance]]:
        """Balances of some mints, native SOL by that of wrapped SOL; None: of all that is held."""
        ...

    def auto_pay(self, request: Mapping[str, Any], signal: Signal | None) -> Steps[PaymentResult]:
        """Plans a payment step by step, at a service."""
        ...
