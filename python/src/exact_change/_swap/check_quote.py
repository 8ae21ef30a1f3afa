"""Checks that a quote answers its intent, whatever its source."""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping

from .._base.amounts import parse_amount
from .._base.json_types import is_list, is_number, is_record
from .._base.text import clean_text
from ..errors import ExactChangeError, failure
from .types import QuoteIntent, SwapQuote, least_out, most_in

_MAX_ROUTE = 50
# Base units: the service may round the other way.
_ROUNDING = 1
_NAME = re.compile("[\x21-\x7e]{1,64}")


def check_quote(quote: SwapQuote, intent: QuoteIntent) -> None:
    """Raises ``quote_mismatch`` unless a quote answers the intent.

    The bounds are computed again from the quote's own amounts, whatever its source.
    """
    reason = _mismatch(quote, intent)
    if reason is not None:
        raise _refused(reason)


def check_fields(quote: SwapQuote) -> None:
    """Raises ``quote_mismatch`` unless each field of a quote has its declared type.

    A transport may answer anything.
    """
    values = quote._asdict()
    if not all(fits(values[name]) for name, fits in _FIELDS.items()):
        raise _refused("a field of it is not what a quote has there")


def clean_quote(quote: SwapQuote) -> SwapQuote:
    """Returns a checked quote with a route that callers may show: the route is a service's text."""
    return quote._replace(route=[clean_text(venue) for venue in quote.route[:_MAX_ROUTE]])


def check_impact(quote: SwapQuote, limit_bps: int) -> None:
    """Raises ``price_impact_too_high`` if the impact is above the limit.

    A quote with an unknown impact passes, because the other bounds still hold.
    """
    impact = quote.price_impact_bps
    if impact is None or impact <= limit_bps:
        return
    raise failure(
        "price_impact_too_high",
        f"The swap would move the price by {impact:g} basis points; the limit is {limit_bps}. Swap "
        "less, or from another token.",
        {"price_impact_bps": impact, "limit_bps": limit_bps},
    )


def platform_fee_of(raw: Mapping[str, Any]) -> float | None:
    """Returns the platform fee of a quote in basis points; None if it cannot be read."""
    fee = raw.get("platformFee")
    if fee is None:
        return 0
    if not is_record(fee):
        return None
    bps = fee.get("feeBps")
    bps = 0 if bps is None else bps
    return bps if is_number(bps) and fee.get("amount") in (None, "0") else None


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_units(value: object) -> bool:
    return parse_amount(value) is not None


_FIELDS: Mapping[str, Callable[[object], bool]] = {
    "input_mint": _is_name,
    "output_mint": _is_name,
    "provider": _is_name,
    "in_amount": _is_units,
    "out_amount": _is_units,
    "min_out_amount": _is_units,
    "max_in_amount": _is_units,
    "quoted_at": lambda value: is_number(value) and value >= 0,
    # A swap at a better price than the market has an impact below zero.
    "price_impact_bps": lambda value: value is None or is_number(value),
    "route": lambda value: is_list(value) and all(isinstance(venue, str) for venue in value),
}


def _mismatch(quote: SwapQuote, intent: QuoteIntent) -> str | None:
    """Returns why a quote does not answer the intent; None if it does."""
    if (quote.input_mint, quote.output_mint) != (intent.input_mint, intent.output_mint):
        return "it is for other tokens"
    if quote.swap_mode != intent.swap_mode:
        return "it is for the other swap mode"
    if quote.slippage_bps != intent.slippage_bps:
        return "its slippage is not what was asked for"
    # The expected value is 0, but a remote service may send anything.
    fee: object = quote.platform_fee_bps
    if fee != 0 or (is_record(quote.raw) and platform_fee_of(quote.raw) != 0):
        return "it carries a platform fee"
    amounts = [quote.in_amount, quote.out_amount, quote.min_out_amount, quote.max_in_amount]
    numbers = [amount for amount in map(parse_amount, amounts) if amount is not None]
    if len(numbers) < len(amounts):
        return "an amount in it is not a decimal string of base units"
    in_amount, out_amount, min_out, max_in = numbers
    if in_amount == 0 or out_amount == 0:
        return "it swaps nothing"
    if intent.swap_mode == "ExactIn":
        if in_amount != intent.amount or max_in != intent.amount:
            return "it takes another amount than asked for"
        least = least_out(out_amount, intent.slippage_bps)
        is_near = abs(min_out - least) <= _ROUNDING
        if min_out > out_amount or not is_near:
            return "its least output does not follow from its slippage"
        return None
    # Concentrated liquidity may pay out a little more than the intent asks for.
    if out_amount < intent.amount or not intent.amount <= min_out <= out_amount:
        return "it pays out another amount than asked for"
    most = most_in(in_amount, intent.slippage_bps)
    if max_in < in_amount or abs(max_in - most) > _ROUNDING:
        return "its most input does not follow from its slippage"
    return None


def _refused(reason: str) -> ExactChangeError:
    return failure(
        "quote_mismatch", f"The quote was refused: {reason}. Quote again.", {"reason": reason}
    )
