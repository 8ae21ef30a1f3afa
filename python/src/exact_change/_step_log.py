"""One line of ours about each event, for a log."""

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
    """Tells a logger each step of each call at ``DEBUG``."""

    def tell(event: Event) -> None:
        to.debug("%s", line_of(event, network))

    events.on("*", tell)


def line_of(event: Event, network: str) -> str:
    """Of an address it has neither user nor query, and no key that is known.

    A seller's address may be one that only its buyer has.
    """
    text = redact(_text_of(event.type, dict(event.details), network))
    return f"exact-change {event.id[:6]} {event.type}: {text}"


def _text_of(type_: str, one: dict[str, Any], network: str) -> str:
    def amount(mint: str, units: str, decimals: int | None = None) -> str:
        return amount_text(network, one[mint], int(one[units]), decimals)

    if type_ == "payment.required":
        return f"{_call(one)} asks for payment (offers: {one['offers']})"
    if type_ == "payment.chosen":
        return f"{amount('mint', 'amount', one['decimals'])} to {one['pay_to']}"
    if type_ == "balance.checked":
        return f"can spend {amount('mint', 'available')} of {amount('mint', 'required')}"
    if type_ == "swap.quoted":
        most = amount("input_mint", "max_in_amount")
        return f"up to {most} for {amount('output_mint', 'min_out_amount')}"
    if type_ == "swap.confirmed":
        given, got = amount("input_mint", "in_amount"), amount("output_mint", "out_amount")
        return f"{given} into {got}, {one['signature']}"
    if type_ == "swap.failed":
        return f"{one['code']}, {one['signature']}"
    if type_ == "payment.signed":
        height = one["last_valid_block_height"]
        return f"{one['payer_signature']}, may land until block height {height}"
    if type_ == "payment.sent":
        return _call(one)
    if type_ == "payment.answered":
        return f"status {one['status']}"
    if type_ == "payment.settled":
        return one["receipt"].payment.signature or ""
    if type_ == "payment.unsettled":
        return "it can never land"
    if type_ == "payment.uncertain":
        height = one["last_valid_block_height"]
        return f"{one['code']}, the chain decides until block height {height}"
    if type_ == "payment.failed":
        return f"{one['code']} (funds {one['funds']}): {one['message']}"
    return str(one.get("message", one.get("signature", "")))


def _call(one: dict[str, Any]) -> str:
    url = parse_address(one["url"])
    return f"{one['method']} {'' if url is None else url.origin + url.path}"
