"""The swap, or the wrap of SOL, that brings the missing tokens of a payment."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._solana.address import Address
from .._swap.candidates import Candidate
from .._swap.sign_relayed import RelayOffer
from .._swap.types import SwapQuote


class Funding(NamedTuple):
    """A swap by quote, or a wrap of SOL; amounts in base units."""

    input_mint: Address
    # The most of the input that the swap takes.
    max_in: int
    # Least of the payment's mint that the swap brings, besides a relay's highest fee.
    brings: int
    # None for a wrap of SOL.
    quote: SwapQuote | None = None
    # The most of the input that any later quote may take.
    available: int = 0
    # The transaction that the service built along with the quote, if it did.
    built: Any = None
    # The relay that pays the lamports if the wallet cannot. `max_in` includes its highest fee.
    relay: RelayOffer | None = None


def funded_by(candidate: Candidate, quote: SwapQuote) -> Funding:
    return Funding(candidate.mint, quote.max_in, quote.min_out, quote, candidate.available)
