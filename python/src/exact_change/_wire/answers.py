"""Converts a service's checked answers to the types of this library, and a quote back to JSON."""

from __future__ import annotations

from typing import Any, Mapping

from .._base.json_types import is_list
from .._base.names import camel_keys, snake_keys
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
    raw = json["raw"]
    return SwapQuote(**{**snake_keys(dict(json)), "raw": raw})


def quote_json(quote: SwapQuote) -> dict[str, Any]:
    fields: dict[str, Any] = camel_keys(quote._asdict())
    return fields


def swap_of(json: _Json) -> SwapTransaction:
    """Reads an unsigned transaction for a quote."""
    fields = {name: value for name, value in json.items() if name != "quote"}
    return SwapTransaction(quote=quote_of(json["quote"]), **snake_keys(fields))


def balances_of(json: Any) -> list[TokenBalance]:
    """Reads a balance, or a list of balances."""
    balances = json if is_list(json) else [json]
    return [TokenBalance(**snake_keys(balance)) for balance in balances]


def parsed_of(json: _Json) -> ParsedPayment:
    return ParsedPayment(json["x402Version"], [_offer_of(offer) for offer in json["offers"]])


def result_of(json: _Json) -> PaymentResult:
    """Reads a step of a payment."""
    texts = snake_keys({name: value for name, value in json.items() if isinstance(value, str)})
    parts: dict[str, Any] = {"offer": _offer_of(json["offer"])}
    if "swap" in json:
        parts["swap"] = swap_of(json["swap"])
    if "payment" in json:
        parts["payment"] = UnsignedPayment(**snake_keys(json["payment"]))
    if "header" in json:
        parts["header"] = PaymentHeader(**json["header"])
    if "funds" in json:
        parts["funds"] = MissingFunds(**json["funds"])
    return PaymentResult(**texts, **parts)


def _offer_of(json: _Json) -> ParsedOffer:
    fields = {name: value for name, value in json.items() if name not in ("index", "refusal")}
    offer = ParsedOffer(json["index"], **snake_keys(fields))
    refusal = json.get("refusal")
    if refusal is None:
        return offer
    return offer._replace(
        refusal=OfferRefusal(
            refusal["index"], refusal["code"], refusal["message"], refusal.get("untrusted")
        )
    )
