"""A way to get what is missing for a payment."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._solana.address import Address
from .._swap.candidates import Candidate
from .._swap.sign_relayed import RelayOffer
from .._swap.types import SwapQuote


class Funding(NamedTuple):
    """A swap by quote, or SOL wrapped as it is; amounts in base units."""

    input_mint: Address
    max_in: int
    # Of the asked-for mint: what it brings at least.
    brings: int
    # None: SOL is wrapped.
    quote: SwapQuote | None = None
    # What may be spent of the input, however often it is quoted anew.
    available: int = 0
    # What the service built for the quote, if it was asked for both at once.
    built: Any = None
    # What pays its lamports if the wallet cannot; the most that it takes is in what goes in.
    relay: RelayOffer | None = None


def funded_by(candidate: Candidate, quote: SwapQuote) -> Funding:
    """The swap of a candidate by a quote."""
    return Funding(candidate.mint, quote.max_in, quote.min_out, quote, candidate.available)
