"""Sizes the input of a swap that buys an exact output."""

from __future__ import annotations

from typing import NamedTuple

from .._base.amounts import U64_MAX, WHOLE_BPS, ceil_div
from .._base.network import SOLANA_MAINNET
from .._base.token_text import amount_text
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from ..errors import failure
from .check_quote import check_quote
from .types import QuoteIntent, SwapProvider, SwapQuote

_MAX_CALLS = 4
_GOOD_ENOUGH_BPS = 50


class ExactOutput(NamedTuple):
    """An exact output to buy; amounts in base units."""

    input_mint: Address
    output_mint: Address
    target: int
    slippage_bps: int
    # Estimate of the input.
    seed_in: int
    max_accounts: int | None = None


def size_exact_in(
    provider: SwapProvider, wanted: ExactOutput, signal: Signal | None
) -> Steps[SwapQuote]:
    """Returns an ``ExactIn`` quote with a least output that covers ``target``.

    The input is sized until slippage cannot make the output too small. At most four calls; every
    quote passes ``check_quote``. Raises ``no_route`` or ``quote_mismatch``, and any error of the
    provider.
    """
    mints = wanted.input_mint, wanted.output_mint
    target, amount = wanted.target, wanted.seed_in
    pad_bps = 10
    best: SwapQuote | None = None
    for _ in range(_MAX_CALLS):
        intent = QuoteIntent(*mints, amount, "ExactIn", wanted.slippage_bps, wanted.max_accounts)
        quote = yield from provider.quote(intent, signal)
        check_quote(quote, intent)
        least = quote.min_out
        if least >= target:
            # Every further input is smaller, so this quote is the best so far.
            best = quote
            if (least - target) * WHOLE_BPS // target <= _GOOD_ENOUGH_BPS:
                break
        else:
            pad_bps *= 3
        following = amount * 10
        if least > 0:
            following = ceil_div(amount * target * (WHOLE_BPS + pad_bps), least * WHOLE_BPS)
        following = min(following, U64_MAX)
        if following == amount or (best is not None and following >= int(best.in_amount)):
            break
        amount = following
    if best is not None:
        return best
    goal = amount_text(SOLANA_MAINNET, wanted.output_mint, target)
    raise failure(
        "no_route",
        f"No amount of {wanted.input_mint} was found that surely buys {goal}. Swap from another "
        "token.",
        {"input_mint": wanted.input_mint, "output_mint": wanted.output_mint},
    )
