"""Writes a line of text for each event to a log."""

from __future__ import annotations

import logging
from typing import Any

from ._base.redact import redact
from ._base.token_text import amount_text
from ._base.urls import parse_address
from ._events import Event, Events

logger = logging.getLogger("exact_change")
logger.addHandler(logging.NullHandler())


def log_steps(events: Events, to: logging.Logger, network: str) -> None:
    """Writes a line to a logger at ``DEBUG`` for each step of each call."""

    def tell(event: Event) -> None:
        to.debug("%s", line_of(event, network))

    events.on("*", tell)


def line_of(event: Event, network: str) -> str:
    """Returns the line of an event.

    It shows a URL without user and query, because the URL may be a secret of its buyer. It shows no
    known key.
    """
    text = redact(_text_of(event.type, dict(event.details), network))
    return f"exact-change {event.id[:6]} {event.type}: {text}"


def _text_of(type_: str, details: dict[str, Any], network: str) -> str:
    def amount(mint: str, units: str, decimals: int | None = None) -> str:
        return amount_text(network, details[mint], int(details[units]), decimals)

    if type_ == "payment.required":
        return f"{_call(details)} asks for payment (offers: {details['offers']})"
    if type_ == "payment.chosen":
        return f"{amount('mint', 'amount', details['decimals'])} to {details['pay_to']}"
    if type_ == "balance.checked":
        return f"can spend {amount('mint', 'available')} of {amount('mint', 'required')}"
    if type_ == "swap.quoted":
        most = amount("input_mint", "max_in_amount")
        return f"up to {most} for {amount('output_mint', 'min_out_amount')}"
    if type_ == "swap.confirmed":
        sold, bought = amount("input_mint", "in_amount"), amount("output_mint", "out_amount")
        return f"{sold} into {bought}, {details['signature']}"
    if type_ == "swap.failed":
        return f"{details['code']}, {details['signature']}"
    if type_ == "payment.signed":
        height = details["last_valid_block_height"]
        return f"{details['payer_signature']}, may land until block height {height}"
    if type_ == "payment.sent":
        return _call(details)
    if type_ == "payment.answered":
        return f"status {details['status']}"
    if type_ == "payment.settled":
        return details["receipt"].payment.signature or ""
    if type_ == "payment.unsettled":
        return "it can never land"
    if type_ == "payment.uncertain":
        height = details["last_valid_block_height"]
        return f"{details['code']}, the chain decides until block height {height}"
    if type_ == "payment.failed":
        return f"{details['code']} (funds {details['funds']}): {details['message']}"
    return str(details.get("message", details.get("signature", "")))


def _call(details: dict[str, Any]) -> str:
    url = parse_address(details["url"])
    return f"{details['method']} {'' if url is None else url.origin + url.path}"
