"""What quotes swaps, builds them, and reads balances."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from typing_extensions import Protocol

from .._config.swap_request import ResolvedRequest
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.types import SwapBuild, SwapQuote


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

    def auto_pay(self, request: Mapping[str, Any], signal: Signal | None) -> Steps[Any]:
        """Plans a payment step by step, at a service."""
        ...
