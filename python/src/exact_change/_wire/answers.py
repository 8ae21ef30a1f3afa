"""Answers of a service that fit, as this library has them."""

from __future__ import annotations

from typing import Any, Mapping

from .._base.json_types import is_list
from .._base.names import snake_keys
from .._swap.types import SwapQuote
from .._transport.types import (
    MissingFunds,
    ParsedOffer,
    ParsedPayment,
    PaymentResult,
    SwapTransaction,
    TokenBalance,
    UnsignedPayment,
)
from .._x402.offers import OfferRefusal
from .._x402.types import PaymentHeader

_Json = Mapping[str, Any]


def quote_of(json: _Json) -> SwapQuote:
    """A quote."""
    raw = json["raw"]
    return SwapQuote(**{**snake_keys(dict(json)), "raw": raw})


def quote_json(quote: SwapQuote) -> dict[str, Any]:
    """A quote as it goes out."""
    return {
        "inputMint": quote.input_mint,
        "outputMint": quote.output_mint,
        "swapMode": quote.swap_mode,
        "inAmount": quote.in_amount,
        "outAmount": quote.out_amount,
        "minOutAmount": quote.min_out_amount,
        "maxInAmount": quote.max_in_amount,
        "slippageBps": quote.slippage_bps,
        "priceImpactBps": quote.price_impact_bps,
        "platformFeeBps": quote.platform_fee_bps,
        "route": list(quote.route),
        "provider": quote.provider,
        "quotedAt": quote.quoted_at,
        "raw": quote.raw,
    }


def swap_of(json: _Json) -> SwapTransaction:
    """An unsigned transaction for a quote."""
    rest = {name: value for name, value in json.items() if name != "quote"}
    return SwapTransaction(quote=quote_of(json["quote"]), **snake_keys(rest))


def balances_of(json: Any) -> list[TokenBalance]:
    """Balances, one or several."""
    every = json if is_list(json) else [json]
    return [TokenBalance(**snake_keys(one)) for one in every]


def parsed_of(json: _Json) -> ParsedPayment:
    """The offers of a 402."""
    return ParsedPayment(json["x402Version"], [_offer_of(one) for one in json["offers"]])


def result_of(json: _Json) -> PaymentResult:
    """A step of a payment."""
    own = snake_keys({name: value for name, value in json.items() if isinstance(value, str)})
    parts: dict[str, Any] = {"offer": _offer_of(json["offer"])}
    if "swap" in json:
        parts["swap"] = swap_of(json["swap"])
    if "payment" in json:
        parts["payment"] = UnsignedPayment(**snake_keys(json["payment"]))
    if "header" in json:
        parts["header"] = PaymentHeader(**json["header"])
    if "funds" in json:
        parts["funds"] = MissingFunds(**json["funds"])
    return PaymentResult(**own, **parts)


def _offer_of(json: _Json) -> ParsedOffer:
    own = {name: value for name, value in json.items() if name not in ("index", "refusal")}
    offer = ParsedOffer(json["index"], **snake_keys(own))
    refusal = json.get("refusal")
    if refusal is None:
        return offer
    return offer._replace(
        refusal=OfferRefusal(
            refusal["index"], refusal["code"], refusal["message"], refusal.get("untrusted")
        )
    )
