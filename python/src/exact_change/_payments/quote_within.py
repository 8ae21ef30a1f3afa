"""Gets a quote that is not worse than the approved one, even if the market has moved."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._base.amounts import WHOLE_BPS
from .._config.swap_request import ResolvedRequest
from .._kernel.task import Steps
from .._swap.types import SwapQuote
from ..errors import ExactChangeError, failure

# Prices move by about this much between two quotes.
_HEADROOM_BPS = 1
_MOST_QUOTES = 3


class WorstPrice(NamedTuple):
    """The highest input and the lowest output of the approved swap, in base units."""

    max_in: int
    min_out: int


def quote_within(
    request: ResolvedRequest, worst: WorstPrice, ask: Callable[[ResolvedRequest], Steps[SwapQuote]]
) -> Steps[SwapQuote]:
    """Returns a quote within the approved bounds.

    If the market has moved against the swap, the quote gets only the approved slippage that is
    left. Raises ``approval_refused`` if none is left.
    """
    slippage = request.slippage_bps
    for _ in range(_MOST_QUOTES):
        quote = yield from ask(request._replace(slippage_bps=slippage))
        if quote.max_in <= worst.max_in and quote.min_out >= worst.min_out:
            return quote
        left = _slippage_left(quote, worst)
        if left < 0:
            break
        slippage = min(left, slippage)
    raise past_approval()


def past_approval() -> ExactChangeError:
    """Returns the error for a swap that takes more, or brings less, than approved."""
    return failure(
        "approval_refused",
        "What the swap takes moved past what was approved, so nothing more was signed. Ask for a "
        "new quote.",
        {"reason": "changed"},
        retry="fresh",
    )


def _slippage_left(quote: SwapQuote, worst: WorstPrice) -> int:
    """Returns the basis points between the current and the worst price; below 0 if none is left."""
    input_amount, output_amount = int(quote.in_amount), int(quote.out_amount)
    room, base = worst.max_in - input_amount, input_amount
    if quote.swap_mode == "ExactIn":
        room, base = output_amount - worst.min_out, output_amount
    return -1 if room < 0 else room * WHOLE_BPS // base - _HEADROOM_BPS
