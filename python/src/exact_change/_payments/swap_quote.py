"""Quotes for payments, and what they may cost."""

from __future__ import annotations

from typing import Mapping

from .._base.amounts import ceil_div, parse_amount
from .._base.network import pinned_mint
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

_WHOLE = 10_000
# A tenth of a cent, about what the swap's network fee costs anyway: small amounts are rounded by
# more than any share of them.
_SLACK_MICRO_USD = 1_000
# An input that is sized, or rounded to coarse units, brings more than was asked for; a service
# might sell the whole wallet.
_MOST_TIMES = 2


def quote_for_payment(
    context: PaymentContext,
    request: ResolvedRequest,
    signal: Signal | None,
    given: SwapQuote | None = None,
) -> Steps[SwapQuote]:
    """A quote for a payment.

    Caps count what the payment is worth, so the swap for it may cost that and
    ``policy.max_swap_loss_bps``: what a token costs to buy says nothing, for its market may be the
    seller's own. ``given``: the transport's answer, if it has given one already.
    """
    policy = context.config.policy
    mints = request.input_mint, request.output_mint
    # Asked for along with the quote, so that they cost no time.
    worths = yield from start(
        all_of([_worth_for(context, request.input_mint, mint, signal) for mint in mints])
    )
    quote = yield from _ask_quote(context, request, signal, given)
    paid, got = yield from join(worths)
    if paid is not None and got is not None:
        _check_loss(quote, paid, got, policy.max_swap_loss_bps)
    elif request.input_mint not in policy.max_in_amount:
        raise _unknown(mints[0] if paid is None else mints[1])
    return quote


def quote_by_name(
    context: PaymentContext, request: ResolvedRequest, signal: Signal | None
) -> Steps[SwapQuote]:
    """A quote for a swap that the caller asked for by name. It is not valued.

    But a service's quote is held against our own Jupiter's for the same swap, unless the caller
    bounds the input.
    """
    if context.prices is context.transport:
        return (yield from _ask_quote(context, request, signal))
    policy = context.config.policy
    asked = yield from start(context.prices.quote(request, signal))
    quote = yield from _ask_quote(context, request, signal)
    own = yield from settled(asked)
    if isinstance(own, Exception):
        if request.input_mint in policy.max_in_amount and isinstance(own, ExactChangeError):
            return quote
        raise own
    _check_answer(context, own, request)
    # The rate of one is held against the other's.
    paid, got = _taken(quote) * _brought(own), _brought(quote) * _taken(own)
    _check_share(paid, got, policy.max_swap_loss_bps)
    return quote


def check_available(network: str, quote: SwapQuote, available: int) -> None:
    """Raises ``insufficient_funds`` if a swap would take more than may be spent."""
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
    """Raises ``quote_mismatch`` unless a quote is one, and for what was asked.

    A transport may answer anything. What it costs is not judged.
    """
    check_fields(quote)
    mode: SwapMode = request.swap_mode
    amount = request.amount
    # An exact output may be answered with an input whose least output covers it.
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
    """The caller's own bound, whatever prices say. Raises ``amount_over_limit``."""
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
    """Asks the transport, and believes nothing: the quote must answer, within the policy."""
    quote = given
    if quote is None:
        quote = yield from context.transport.quote(request, signal)
    _check_answer(context, quote, request)
    # A quote from a clock that is ahead would never be too old.
    return quote._replace(quoted_at=min(quote.quoted_at, context.now()))


def _check_answer(context: PaymentContext, quote: SwapQuote, request: ResolvedRequest) -> None:
    policy, network = context.config.policy, context.config.network
    check_fit(quote, request)
    check_impact(quote, policy.max_price_impact_bps)
    # Two dollar tokens are worth the same, so what a swap between them loses is known without any
    # price.
    given, got = pinned_mint(network, quote.input_mint), pinned_mint(network, quote.output_mint)
    if given is not None and given.dollar and got is not None and got.dollar:
        par = at_par(given.decimals), at_par(got.decimals)
        _check_loss(quote, *par, policy.max_swap_loss_bps)
    check_input(network, quote.input_mint, quote.max_in, policy.max_in_amount)


def _worth_for(
    context: PaymentContext, input_mint: Address, mint: Address, signal: Signal | None
) -> Steps[UsdPrice | None]:
    """None if there is no price.

    Or, for an input that the caller bounds in base units, if none could be asked for.
    """
    try:
        return (yield from usd_price_of(context, mint, signal))
    except ExactChangeError:
        if input_mint in context.config.policy.max_in_amount:
            return None
        raise


def _unknown(mint: Address) -> ExactChangeError:
    return failure(
        "price_unknown",
        f"No price is known for mint {mint}, so nothing bounds what the swap would lose. Set "
        "policy.max_in_amount for the token to swap from.",
        {"mint": mint},
    )


def _check_loss(quote: SwapQuote, given: UsdPrice, got: UsdPrice, limit_bps: int) -> None:
    paid, worth = given.about(_taken(quote)), got.least(_brought(quote))
    if paid > _SLACK_MICRO_USD + worth:
        _check_share(paid, worth, limit_bps)


def _check_share(paid: int, got: int, limit_bps: int) -> None:
    if got * _WHOLE >= paid * (_WHOLE - limit_bps):
        return
    loss = ceil_div((paid - got) * _WHOLE, paid)
    raise failure(
        "swap_overhead_too_high",
        f"The swap would lose {loss} basis points besides slippage; policy.max_swap_loss_bps is "
        f"{limit_bps}. Try later, or raise it.",
        {"loss_bps": loss, "limit_bps": limit_bps},
    )


def _taken(quote: SwapQuote) -> int:
    """Before slippage, which has its own bound: ``check_quote`` has held it against this."""
    return int(quote.in_amount)


def _brought(quote: SwapQuote) -> int:
    """An exact output may say to bring more than it promises."""
    return int(quote.out_amount if quote.swap_mode == "ExactIn" else quote.min_out_amount)
