"""Types of quotes, intents, swap providers and decoded swaps."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from typing_extensions import Literal, Protocol

from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.types import Instruction

SwapMode = Literal["ExactIn", "ExactOut"]


class SwapQuote(NamedTuple):
    """A quote in the terms of this library. Amounts are decimal strings of base units."""

    input_mint: Address
    output_mint: Address
    swap_mode: SwapMode
    in_amount: str
    out_amount: str
    # The least that arrives: `out_amount` less slippage for `ExactIn`, `out_amount` itself for
    # `ExactOut`.
    min_out_amount: str
    # The most that leaves: `in_amount` itself for `ExactIn`, plus slippage for `ExactOut`.
    max_in_amount: str
    slippage_bps: int
    # Basis points; None if the provider did not say.
    price_impact_bps: float | None
    platform_fee_bps: int
    # Names of the venues, in order. The text is the service's: show it, do not act on it.
    route: Sequence[str]
    # Id of the provider that made the quote and must build its swap.
    provider: str
    # Milliseconds since the epoch.
    quoted_at: int
    # The provider's own quote, verbatim; the provider needs it to build the swap.
    raw: Any

    @property
    def max_in(self) -> int:
        """Base units: the most that leaves."""
        return int(self.max_in_amount)

    @property
    def min_out(self) -> int:
        """Base units: the least that arrives."""
        return int(self.min_out_amount)


class QuoteIntent(NamedTuple):
    """A swap to quote: its addresses are resolved and its amount is checked."""

    input_mint: Address
    output_mint: Address
    # Base units: of the input for `ExactIn`, of the output for `ExactOut`.
    amount: int
    swap_mode: SwapMode
    slippage_bps: int
    # Accounts that the route may use: fewer accounts make a smaller transaction and a worse price.
    max_accounts: int | None = None


class SwapBuild(NamedTuple):
    """A provider's part of the transaction: one instruction, and its lookup tables.

    This library composes the rest.
    """

    instruction: Instruction
    lookup_tables: Sequence[Address]


class SwapProvider(Protocol):
    """Quotes and builds swaps with one service; the service's answers are hints.

    Raises ``QuoteError`` (``no_route``) or ``TransportError``; a 429 is never ``no_route``.
    """

    id: str

    def quote(self, intent: QuoteIntent, signal: Signal | None) -> Steps[SwapQuote]:
        """Returns a quote for exactly this intent."""
        ...

    def build(self, quote: SwapQuote, wallet: Address, signal: Signal | None) -> Steps[SwapBuild]:
        """Builds the swap of a quote.

        Raises ``quote_mismatch`` for a quote of another provider.
        """
        ...


class SwapCall(NamedTuple):
    user: Address
    source: Address
    destination: Address
    # An account that gets the output instead of `destination`.
    destination_override: Address | None
    # None if the form does not name it; the source account has only one mint.
    source_mint: Address | None
    destination_mint: Address
    # Both programs are None if the form does not assign its token programs to sides.
    source_program: Address | None
    destination_program: Address | None
    # Token programs that the form does not assign to a side.
    either_program: Sequence[Address]
    fee_account: Address | None
    # Base units: exact for `ExactIn`, quoted for `ExactOut`.
    in_amount: int
    # Base units: quoted for `ExactIn`, exact for `ExactOut`.
    out_amount: int
    # Base units: the most that the instruction can take.
    max_in: int
    # Base units: the least that the instruction pays out.
    min_out: int
    slippage_bps: int
    platform_fee_bps: int
    positive_slippage_bps: int


class ReservedAmounts(NamedTuple):
    """Amounts that other transactions of ours in flight may take."""

    # Base units of the input mint's account; wrapped SOL, if the input is SOL.
    input: int = 0
    # Base units of the output mint's account.
    output: int = 0

    def larger(self, other: ReservedAmounts) -> ReservedAmounts:
        """Returns the larger value of each field."""
        return ReservedAmounts(*(max(pair) for pair in zip(self, other)))


NOTHING_RESERVED = ReservedAmounts()


class SwapBounds(NamedTuple):
    """Bounds on what a swap may take and must bring; amounts in base units."""

    input_mint: Address
    output_mint: Address
    max_in: int
    min_out: int
    slippage_bps: int


def bounds_of(quote: SwapQuote) -> SwapBounds:
    """Returns the bounds that a quote promises."""
    return SwapBounds(
        quote.input_mint, quote.output_mint, quote.max_in, quote.min_out, quote.slippage_bps
    )


def least_out(quoted_out: int, slippage_bps: int) -> int:
    """Returns the least output of an ``ExactIn`` swap: the quoted output less slippage."""
    return quoted_out * (10_000 - slippage_bps) // 10_000


def most_in(quoted_in: int, slippage_bps: int) -> int:
    """Returns the most input of an ``ExactOut`` swap: the quoted input plus slippage."""
    return -(-quoted_in * (10_000 + slippage_bps) // 10_000)
