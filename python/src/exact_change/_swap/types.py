"""Quotes, what they are asked for, and what a source of swaps contributes."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from typing_extensions import Literal, Protocol

from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.types import Instruction

SwapMode = Literal["ExactIn", "ExactOut"]


class SwapQuote(NamedTuple):
    """A quote in our words. Amounts are decimal strings of base units."""

    input_mint: Address
    output_mint: Address
    swap_mode: SwapMode
    in_amount: str
    out_amount: str
    # The least that arrives: `out_amount` less slippage for `ExactIn`, itself for `ExactOut`.
    min_out_amount: str
    # The most that leaves: `in_amount` itself for `ExactIn`, plus slippage for `ExactOut`.
    max_in_amount: str
    slippage_bps: int
    # Basis points; None if the provider did not say.
    price_impact_bps: float | None
    platform_fee_bps: int
    # Names of the venues, in order. A service's text: show it, do not act on it.
    route: Sequence[str]
    # Id of the provider that quoted and has to build it.
    provider: str
    # Milliseconds since the epoch.
    quoted_at: int
    # The provider's own quote, verbatim: what it needs to build the swap.
    raw: Any

    @property
    def max_in(self) -> int:
        """The most that leaves."""
        return int(self.max_in_amount)

    @property
    def min_out(self) -> int:
        """The least that arrives."""
        return int(self.min_out_amount)


class QuoteIntent(NamedTuple):
    """A swap that a provider is asked for: addresses resolved, amounts checked."""

    input_mint: Address
    output_mint: Address
    # Base units: of the input for `ExactIn`, of the output for `ExactOut`.
    amount: int
    swap_mode: SwapMode
    slippage_bps: int
    # Fewer accounts make a smaller transaction and a worse price.
    max_accounts: int | None = None


class SwapBuild(NamedTuple):
    """What a provider contributes to the transaction. We compose the rest."""

    instruction: Instruction
    lookup_tables: Sequence[Address]


class SwapProvider(Protocol):
    """Asks one service for swaps; its answers are hints.

    Raises ``QuoteError`` (``no_route``) or ``TransportError``; a 429 is never ``no_route``.
    """

    id: str

    @property
    def supports_exact_out(self) -> bool:
        """Whether it quotes exact outputs."""
        ...

    def quote(self, intent: QuoteIntent, signal: Signal | None) -> Steps[SwapQuote]:
        """A quote for exactly this intent."""
        ...

    def build(self, quote: SwapQuote, wallet: Address, signal: Signal | None) -> Steps[SwapBuild]:
        """Raises ``quote_mismatch`` for a quote that is not its own."""
        ...


class SwapCall(NamedTuple):
    """A swap instruction, read."""

    user: Address
    source: Address
    destination: Address
    # An account that gets the output instead.
    destination_override: Address | None
    # None if the form does not name it: the source account is of one mint only.
    source_mint: Address | None
    destination_mint: Address
    # None if the form does not say for which side its token programs are, as is the other.
    source_program: Address | None
    destination_program: Address | None
    # The token programs of such a form.
    either_program: Sequence[Address]
    fee_account: Address | None
    # Base units: exact for `ExactIn`, quoted for `ExactOut`.
    in_amount: int
    # Base units: quoted for `ExactIn`, exact for `ExactOut`.
    out_amount: int
    # The most that the instruction can take.
    max_in: int
    # The least that it pays out.
    min_out: int
    slippage_bps: int
    platform_fee_bps: int
    positive_slippage_bps: int


class ReservedAmounts(NamedTuple):
    """What other transactions of ours that are still in flight may take."""

    # Base units of the input mint's account; wrapped SOL, if the input is SOL.
    input: int = 0
    output: int = 0
    lamports: int = 0

    def larger(self, other: ReservedAmounts) -> ReservedAmounts:
        """The larger of each."""
        return ReservedAmounts(*(max(pair) for pair in zip(self, other)))


NOTHING_RESERVED = ReservedAmounts()


class SwapBounds(NamedTuple):
    """What a swap may take and must bring; amounts in base units."""

    input_mint: Address
    output_mint: Address
    max_in: int
    min_out: int
    slippage_bps: int


def bounds_of(quote: SwapQuote) -> SwapBounds:
    """The bounds that a quote promises."""
    return SwapBounds(
        quote.input_mint, quote.output_mint, quote.max_in, quote.min_out, quote.slippage_bps
    )


def least_out(quoted_out: int, slippage_bps: int) -> int:
    """The least that an ``ExactIn`` swap pays out: what was quoted less slippage."""
    return quoted_out * (10_000 - slippage_bps) // 10_000


def most_in(quoted_in: int, slippage_bps: int) -> int:
    """The most that an ``ExactOut`` swap takes: what was quoted plus slippage."""
    return -(-quoted_in * (10_000 + slippage_bps) // 10_000)
