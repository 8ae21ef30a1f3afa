"""A quote that is no worse than what was approved, whatever the market did since."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._config.swap_request import ResolvedRequest
from .._kernel.task import Steps
from .._swap.types import SwapQuote
from ..errors import ExactChangeError, failure

_WHOLE = 10_000
# Prices move by about so much from one quote to the next.
_HEADROOM_BPS = 1
_MOST_QUOTES = 3


class WorstPrice(NamedTuple):
    """The most that leaves and the least that arrives of what was approved, in base units."""

    max_in: int
    min_out: int


def quote_within(
    request: ResolvedRequest, worst: WorstPrice, ask: Callable[[ResolvedRequest], Steps[SwapQuote]]
) -> Steps[SwapQuote]:
    """If the market has moved against the swap, it gets the rest of the slippage that was approved.

    Raises ``approval_refused`` if none is left.
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
    """What was approved is not enough any more."""
    return failure(
        "approval_refused",
        "What the swap takes moved past what was approved, so nothing was signed. Ask for a new "
        "quote.",
        {"reason": "changed"},
        retry="fresh",
    )


def _slippage_left(quote: SwapQuote, worst: WorstPrice) -> int:
    """Basis points from the price now to the worst one; below 0 if there are none."""
    taken, brought = int(quote.in_amount), int(quote.out_amount)
    room, of = worst.max_in - taken, taken
    if quote.swap_mode == "ExactIn":
        room, of = brought - worst.min_out, brought
    return -1 if room < 0 else room * _WHOLE // of - _HEADROOM_BPS
