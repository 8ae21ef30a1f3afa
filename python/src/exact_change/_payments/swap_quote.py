"""Quotes for swaps, and the checks of their cost."""

from __future__ import annotations

from typing import Mapping

from .._base.amounts import WHOLE_BPS, ceil_div, parse_amount
from .._base.network import WSOL_MINT, pinned_mint
from .._base.token_text import amount_text
from .._config.swap_request import ResolvedRequest
from .._kernel.signals import Signal
from .._kernel.steps import all_of, join, settled, start
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.check_quote import check_fields, check_impact, check_quote
from .._swap.types import QuoteIntent, SwapMode, SwapQuote
from ..errors import ExactChangeError, failure
from .context import PaymentContext
from .prices import UsdPrice, at_par, usd_price_of

# A loss that is always allowed: a tenth of a cent, about the swap's network fee. A small amount may
# lose more than the limit by rounding alone.
_SLACK_MICRO_USD = 1_000
# A quote may bring up to twice the requested output, because it may size its input or round to
# coarse units. The limit keeps a service from selling the whole wallet.
_MOST_TIMES = 2


def quote_for_payment(
    context: PaymentContext,
    request: ResolvedRequest,
    signal: Signal | None,
    given: SwapQuote | None = None,
) -> Steps[SwapQuote]:
    """Returns a checked quote for a payment.

    The swap may cost the payment's value and ``policy.max_swap_loss_bps``. Caps count that value,
    and the buying price of a token proves nothing, because its market may be the seller's own.
    ``given``: the transport's answer, if it is known already.
    """
    policy = context.config.policy
    mints = request.input_mint, request.output_mint
    # Ask for the prices and the quote at the same time.
    asking_prices = yield from start(
        all_of([_price_for(context, request.input_mint, mint, signal) for mint in mints])
    )
    quote = yield from _ask_quote(context, request, signal, given)
    input_price, output_price = yield from join(asking_prices)
    if input_price is not None and output_price is not None:
        _check_loss(quote, input_price, output_price, policy.max_swap_loss_bps)
    elif request.input_mint not in policy.max_in_amount:
        raise price_unknown(mints[0] if input_price is None else mints[1])
    return quote


def quote_by_name(
    context: PaymentContext, request: ResolvedRequest, signal: Signal | None
) -> Steps[SwapQuote]:
    """Returns a quote for a swap that the caller asked for by name. No price is asked for.

    A service's quote is compared with the quote of the client's own Jupiter for the same swap. If
    that cannot be had, the service's quote counts only if the caller bounds the input.
    """
    if context.prices is context.transport:
        return (yield from _ask_quote(context, request, signal))
    policy = context.config.policy
    asking_jupiter = yield from start(context.prices.quote(request, signal))
    quote = yield from _ask_quote(context, request, signal)
    jupiter = yield from settled(asking_jupiter)
    if isinstance(jupiter, Exception):
        if request.input_mint in policy.max_in_amount and isinstance(jupiter, ExactChangeError):
            return quote
        raise jupiter
    _check_answer(context, jupiter, request)
    # Compare the rates of both quotes.
    paid, got = _input_of(quote) * _output_of(jupiter), _output_of(quote) * _input_of(jupiter)
    _check_share(paid, got, policy.max_swap_loss_bps)
    return quote


def check_available(network: str, quote: SwapQuote, available: int) -> None:
    """Raises ``insufficient_funds`` if a swap would take more than the available input."""
    if quote.max_in <= available:
        return
    mint = quote.input_mint
    most = amount_text(network, mint, quote.max_in)
    raise failure(
        "insufficient_funds",
        f"The swap would take up to {most}, and {amount_text(network, mint, available)} can be "
        "spent. Fund the wallet.",
        {"mint": mint, "required": quote.max_in_amount, "available": str(available)},
    )


def check_fit(quote: SwapQuote, request: ResolvedRequest) -> None:
    """Raises ``quote_mismatch`` unless a transport's answer is a quote for the request.

    It does not judge the cost.
    """
    check_fields(quote)
    mode: SwapMode = request.swap_mode
    amount = request.amount
    # A request for an exact output may get an exact-input quote if its least output is enough.
    if mode == "ExactOut" and quote.swap_mode == "ExactIn":
        mode, amount = "ExactIn", parse_amount(quote.in_amount) or 0
    mints = request.input_mint, request.output_mint
    check_quote(quote, QuoteIntent(*mints, amount, mode, request.slippage_bps))
    if request.swap_mode != "ExactOut":
        return
    is_short = quote.min_out < request.amount
    if not is_short and int(quote.out_amount) <= request.amount * _MOST_TIMES:
        return
    reason = "it does not cover the amount that was asked for"
    if not is_short:
        reason = "it brings far more than was asked for"
    raise failure(
        "quote_mismatch", f"The quote was refused: {reason}. Quote again.", {"reason": reason}
    )


def check_input(network: str, mint: Address, max_in: int, caps: Mapping[str, int]) -> None:
    """Raises ``amount_over_limit`` if a swap's input is above the caller's bound for its mint."""
    limit = caps.get(mint)
    if limit is None or max_in <= limit:
        return
    most = amount_text(network, mint, max_in)
    raise failure(
        "amount_over_limit",
        f"The swap would take up to {most}; policy.max_in_amount is "
        f"{amount_text(network, mint, limit)}. Raise it if the price is right.",
        {"cap": "max_in_amount", "limit": str(limit), "amount": str(max_in), "unit": mint},
    )


def _ask_quote(
    context: PaymentContext,
    request: ResolvedRequest,
    signal: Signal | None,
    given: SwapQuote | None = None,
) -> Steps[SwapQuote]:
    """Asks the transport for a quote, and checks it against the request and the policy."""
    quote = given
    if quote is None:
        quote = yield from context.transport.quote(request, signal)
    _check_answer(context, quote, request)
    # A service's clock may be ahead; then the quote would never seem too old.
    return quote._replace(quoted_at=min(quote.quoted_at, context.now()))


def _check_answer(context: PaymentContext, quote: SwapQuote, request: ResolvedRequest) -> None:
    policy, network = context.config.policy, context.config.network
    check_fit(quote, request)
    check_impact(quote, policy.max_price_impact_bps)
    # Dollar tokens count at par, so the loss of a swap between two of them needs no price.
    input_, output = pinned_mint(network, quote.input_mint), pinned_mint(network, quote.output_mint)
    if input_ is not None and input_.dollar and output is not None and output.dollar:
        par = at_par(input_.decimals), at_par(output.decimals)
        _check_loss(quote, *par, policy.max_swap_loss_bps)
    check_input(network, quote.input_mint, quote.max_in, policy.max_in_amount)


def _price_for(
    context: PaymentContext, input_mint: Address, mint: Address, signal: Signal | None
) -> Steps[UsdPrice | None]:
    """Returns the price of a mint; None if there is none.

    If the price cannot be asked for, it raises, or returns None if the caller bounds the input.
    """
    try:
        return (yield from usd_price_of(context, mint, signal))
    except ExactChangeError:
        if input_mint in context.config.policy.max_in_amount:
            return None
        raise


def price_unknown(mint: Address, cause: Exception | None = None) -> ExactChangeError:
    """Returns the error for a swap of a token without a price.

    A retry may help if Jupiter could not be asked (``cause``), and for SOL, which soon has a route
    again.
    """
    is_sol = mint == WSOL_MINT
    advice = "Try again, or set" if is_sol else "Set"
    advice += " policy.max_in_amount for the token to swap from."
    if cause is not None:
        advice = "Jupiter could not be asked; try again."
    return failure(
        "price_unknown",
        f"No price is known for mint {mint}, so nothing bounds what the swap takes. {advice}",
        {"mint": mint},
        retry="fresh" if is_sol or cause is not None else None,
        cause=cause,
    )


def _check_loss(
    quote: SwapQuote, input_price: UsdPrice, output_price: UsdPrice, limit_bps: int
) -> None:
    paid, got = input_price.about(_input_of(quote)), output_price.least(_output_of(quote))
    if paid > _SLACK_MICRO_USD + got:
        _check_share(paid, got, limit_bps)


def _check_share(paid: int, got: int, limit_bps: int) -> None:
    if got * WHOLE_BPS >= paid * (WHOLE_BPS - limit_bps):
        return
    loss = ceil_div((paid - got) * WHOLE_BPS, paid)
    raise failure(
        "swap_overhead_too_high",
        f"The swap would lose {loss} basis points besides slippage; policy.max_swap_loss_bps is "
        f"{limit_bps}. Try later, or raise it.",
        {"loss_bps": loss, "limit_bps": limit_bps},
    )


def _input_of(quote: SwapQuote) -> int:
    """Returns the input before slippage, which ``check_quote`` has bounded."""
    return int(quote.in_amount)


def _output_of(quote: SwapQuote) -> int:
    """Returns the output; for an exact output the least, because only that is promised."""
    return int(quote.out_amount if quote.swap_mode == "ExactIn" else quote.min_out_amount)
