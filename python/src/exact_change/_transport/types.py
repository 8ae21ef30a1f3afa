"""Types of transports, which quote swaps, build them, and read balances."""

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
    """Balance of a mint, in base units and as text."""

    mint: Address
    # Decimal string of base units.
    amount: str
    decimals: int
    ui_amount: str
    token_program: Address
    # The associated token account; the wallet itself for native SOL.
    token_account: Address
    slot: int
    # Present only if the mint is pinned; `client.balance()` adds it.
    symbol: str | None = None


class SwapTransaction(NamedTuple):
    """An unsigned transaction for a quote."""

    # Base64 of the unsigned v0 transaction.
    transaction: str
    # Decimal string.
    last_valid_block_height: str
    quote: SwapQuote
    compute_unit_limit: int
    # Decimal string of lamports: the cost of the compute-unit price at `compute_unit_limit`.
    priority_fee_lamports: str


class ParsedOffer(NamedTuple):
    """One entry of ``accepts``, normalised. If it is not ``payable``, ``refusal`` says why."""

    # Index of the entry in the list.
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
    """A payment to sign."""

    # Base64 of the unsigned v0 transaction.
    transaction: str
    last_valid_block_height: str


class MissingFunds(NamedTuple):
    """The amount that a payment needs, and the available amount; decimal strings of base units."""

    mint: Address
    required: str
    available: str


PaymentState = Literal[
    "swap_required",
    "swap_submitted",
    "ready_to_sign",
    "ready_to_present",
    "insufficient_funds",
    "submitted",
    "settled",
    "failed",
]


class PaymentResult(NamedTuple):
    """Where a payment stands, and what to sign or send next."""

    # `submitted`, `settled` and `failed` need a journal at the service: they say what became of a
    # payment that the service received before. `failed` is no proof: ask your own node before you
    # sign another payment.
    state: PaymentState
    offer: ParsedOffer
    # Id of the attempt, if it is on record.
    id: str | None = None
    # `swap_required`: sign its transaction and send it back as `signed_swap`.
    swap: SwapTransaction | None = None
    # `swap_submitted`: signature of the swap, which is still unconfirmed: ask again. `settled`:
    # signature of the payment's transaction, as the service's own node shows it.
    signature: str | None = None
    # `ready_to_sign`: sign it and send it back as `signed_payment`.
    payment: UnsignedPayment | None = None
    # `ready_to_present`: repeat the request with this header.
    header: PaymentHeader | None = None
    # The wallet's own signature on a payment that is on record, base58.
    payer_signature: str | None = None
    # Once this block height is final, a payment that is on record can no longer land.
    last_valid_block_height: str | None = None
    # Present for `insufficient_funds`.
    funds: MissingFunds | None = None


class Transport(Protocol):
    """Quotes and builds swaps, reads balances and plans payments.

    Each result is a hint: the client judges, signs, sends and confirms by itself.
    """

    @property
    def is_distant(self) -> bool:
        """Whether each call is a round trip to a service.

        So a client that has to swap first asks for a plan, and only then for a quote and a build.
        """
        ...

    def quote(self, request: ResolvedRequest, signal: Signal | None) -> Steps[SwapQuote]:
        """Returns a quote for a request."""
        ...

    def build(
        self, wallet: Address, quote: SwapQuote, signal: Signal | None
    ) -> Steps[SwapBuild | Any]:
        """Returns the swap instruction of a quote, or an unsigned transaction in base64."""
        ...

    def balance(
        self, wallet: Address, mints: Sequence[Address] | None, signal: Signal | None
    ) -> Steps[list[TokenBalance]]:
        """Returns balances of mints, in their order; None: of every token of the wallet.

        The mint of wrapped SOL asks for native SOL.
        """
        ...

    def auto_pay(self, request: Mapping[str, Any], signal: Signal | None) -> Steps[PaymentResult]:
        """Plans a payment step by step, at a service: each answer says what to sign next."""
        ...
