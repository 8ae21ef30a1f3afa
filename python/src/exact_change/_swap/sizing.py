"""Finds quotes with a least output that covers an exact amount."""

from __future__ import annotations

from typing import NamedTuple

from .._base.amounts import ceil_div
from .._base.network import SOLANA_MAINNET
from .._base.token_text import amount_text
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from ..errors import ExactChangeError, failure, is_code
from .check_quote import check_impact, check_quote
from .types import QuoteIntent, SwapMode, SwapProvider, SwapQuote

_MAX_CALLS = 4
_GOOD_ENOUGH_BPS = 50
_WHOLE = 10_000


class ExactOutput(NamedTuple):
    """An exact output to buy, and the most input to spend on it; amounts in base units."""

    input_mint: Address
    output_mint: Address
    target: int
    max_in: int
    slippage_bps: int
    # Estimate of the input, if known: saves a call or two.
    seed_in: int | None = None
    max_accounts: int | None = None
    # Basis points. Limits the returned quote, not the quotes that only size the input.
    max_price_impact_bps: int | None = None


def quote_exact_output(
    provider: SwapProvider, wanted: ExactOutput, signal: Signal | None = None
) -> Steps[SwapQuote]:
    """Returns a quote with a least output that covers ``target`` for at most ``max_in``.

    Asks for ``ExactOut``, else for ``ExactIn`` with an input that is sized until slippage cannot
    make the output too small. At most five calls; every quote passes ``check_quote``. Raises
    ``insufficient_funds``, ``no_route``, ``quote_mismatch`` or ``price_impact_too_high``, and any
    error of the provider. A rate limit or an outage never counts as a missing route.
    """
    if wanted.max_in <= 0:
        raise _too_little(wanted, 1)
    if not provider.supports_exact_out:
        return (yield from size_exact_in(provider, wanted, signal))
    try:
        quote = yield from _ask(provider, wanted, "ExactOut", wanted.target, signal)
    except ExactChangeError as error:
        if not is_code(error, "no_route"):
            raise
        return (yield from size_exact_in(provider, wanted, signal))
    if quote.max_in > wanted.max_in:
        raise _too_little(wanted, quote.max_in)
    return _check_covered(quote, wanted)


def size_exact_in(
    provider: SwapProvider, wanted: ExactOutput, signal: Signal | None
) -> Steps[SwapQuote]:
    """Returns the same quote as :func:`quote_exact_output`, but asks only for ``ExactIn``."""
    target, max_in = wanted.target, wanted.max_in
    seed = max_in if wanted.seed_in is None else wanted.seed_in
    amount = seed if 0 < seed <= max_in else max_in
    pad_bps = 10
    best: SwapQuote | None = None
    for _ in range(_MAX_CALLS):
        quote = yield from _ask(provider, wanted, "ExactIn", amount, signal)
        least = quote.min_out
        if least >= target:
            # Every further input is smaller, so this quote is the best so far.
            best = quote
            if (least - target) * _WHOLE // target <= _GOOD_ENOUGH_BPS:
                break
        elif amount == max_in:
            if least == 0:
                break
            raise _too_little(wanted, ceil_div(max_in * target, least))
        else:
            pad_bps *= 3
        following = amount * 10
        if least > 0:
            following = ceil_div(amount * target * (_WHOLE + pad_bps), least * _WHOLE)
        following = min(following, max_in)
        if best is not None and following >= int(best.in_amount):
            break
        amount = following
    if best is None:
        goal = amount_text(SOLANA_MAINNET, wanted.output_mint, target)
        raise failure(
            "no_route",
            f"No amount of {wanted.input_mint} was found that surely buys {goal}. Swap from "
            "another token.",
            {"input_mint": wanted.input_mint, "output_mint": wanted.output_mint},
        )
    return _check_covered(best, wanted)


def _ask(
    provider: SwapProvider,
    wanted: ExactOutput,
    mode: SwapMode,
    amount: int,
    signal: Signal | None,
) -> Steps[SwapQuote]:
    intent = QuoteIntent(
        wanted.input_mint,
        wanted.output_mint,
        amount,
        mode,
        wanted.slippage_bps,
        wanted.max_accounts,
    )
    quote = yield from provider.quote(intent, signal)
    check_quote(quote, intent)
    return quote


def _check_covered(quote: SwapQuote, wanted: ExactOutput) -> SwapQuote:
    """Checks that a quote keeps the promise of `quote_exact_output`, whatever the provider says."""
    if wanted.max_price_impact_bps is not None:
        check_impact(quote, wanted.max_price_impact_bps)
    if quote.min_out >= wanted.target and quote.max_in <= wanted.max_in:
        return quote
    reason = "it does not cover the amount that was asked for"
    raise failure(
        "quote_mismatch", f"The quote was refused: {reason}. Quote again.", {"reason": reason}
    )


def _too_little(wanted: ExactOutput, required: int) -> ExactChangeError:
    mint = wanted.input_mint
    goal = amount_text(SOLANA_MAINNET, wanted.output_mint, wanted.target)
    cost = amount_text(SOLANA_MAINNET, mint, required)
    most = amount_text(SOLANA_MAINNET, mint, wanted.max_in)
    return failure(
        "insufficient_funds",
        f"{goal} cost up to {cost}, and {most} may be spent. Fund the wallet, or swap from another "
        "token.",
        {"mint": mint, "required": str(required), "available": str(wanted.max_in)},
    )
