"""Writes the request header that carries a payment."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

from .._base.js import stringify, utf16_length
from .._base.json_types import record_of
from ..errors import failure
from .exact import exact_payment_bytes
from .header import decode_header, encode_header
from .types import JsonObject, Offer, PaymentHeader, PaymentRequired

_PAYMENT_ID = "payment-identifier"
# The most characters of the payment header. Servers answer 431 from about 16 KB of headers on, and
# the caller sends headers too.
_LIMIT_BYTES = 12_288
# Upper bound on the header's own JSON: keys, braces and version, without the echoed values.
_OWN_BYTES = 512
PAYMENT_HEADERS = ("payment-signature", "x-payment")


class AttachedPayment(NamedTuple):
    header: PaymentHeader
    # Whether it has an identifier that makes repeats of this payment one purchase.
    has_payment_id: bool


def attach_payment(
    terms: PaymentRequired, offer: Offer, transaction: bytes, random: bytes
) -> AttachedPayment:
    """Writes the header for a transaction, with a payment identifier if the seller takes it.

    ``random`` is 16 bytes for the identifier.
    """
    payload = {"transaction": base64.b64encode(transaction).decode()}
    if offer.version == 1:
        named = {name: offer.raw[name] for name in ("scheme", "network")}
        value = encode_header({"x402Version": 1, **named, "payload": payload})
        return AttachedPayment(_bounded("X-PAYMENT", value), False)
    has_id = terms.version == 2 and _id_info(terms.extensions) is not None
    payment_id = f"pay_{random.hex()}" if has_id else None

    def write(extensions: JsonObject | None) -> str:
        body = {"x402Version": 2, "payload": payload, "resource": terms.resource}
        whole = {**body, "accepted": offer.raw, "extensions": extensions}
        return encode_header({key: part for key, part in whole.items() if part is not None})

    value = write(_with_id(terms.extensions, payment_id))
    if len(value) > _LIMIT_BYTES:
        # A payment that echoes no extension is always valid (x402.md 1.4). So the long schemas of
        # a catalogue do not prevent the purchase.
        own = record_of(terms.extensions).get(_PAYMENT_ID)
        value = write(_with_id(None if own is None else {_PAYMENT_ID: own}, payment_id))
    return AttachedPayment(_bounded("PAYMENT-SIGNATURE", value), has_id)


def check_header(terms: PaymentRequired, offer: Offer) -> None:
    """Raises ``header_too_large`` if the header of a payment for the offer would be too large.

    Call it before anything is swapped or signed for the offer.
    """
    size = exact_payment_bytes(offer)
    echoed = utf16_length(stringify([offer.raw, terms.resource, terms.extensions]))
    # A character is at most three bytes of UTF-8, and three bytes are four characters of base64.
    # The transaction becomes base64 twice. Only the terms of a catalogue come near the limit, so
    # most calls return here and do not write the header.
    if 4 * echoed + 2 * size + _OWN_BYTES > _LIMIT_BYTES:
        attach_payment(terms, offer, bytes(size), bytes(16))


def transaction_in(header: PaymentHeader) -> bytes | None:
    """Returns the transaction in a header of :func:`attach_payment`; None if it has none."""
    payload = record_of(record_of(decode_header(header.value)).get("payload"))
    text = payload.get("transaction")
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except binascii.Error:
        return None


def _with_id(extensions: JsonObject | None, payment_id: str | None) -> JsonObject | None:
    """Returns the seller's extensions, with our id set in the payment-identifier extension."""
    info = _id_info(extensions)
    if payment_id is None or info is None or extensions is None:
        return extensions
    declared = {**extensions[_PAYMENT_ID], "info": {**info, "id": payment_id}}
    return {**extensions, _PAYMENT_ID: declared}


def _id_info(extensions: JsonObject | None) -> dict[str, Any] | None:
    info = record_of(record_of(record_of(extensions).get(_PAYMENT_ID)).get("info"))
    return info if isinstance(info.get("required"), bool) else None


def _bounded(name: str, value: str) -> PaymentHeader:
    if len(value) <= _LIMIT_BYTES:
        return PaymentHeader(name, value)
    raise failure(
        "header_too_large",
        f"The payment header would be {len(value)} bytes, more than the {_LIMIT_BYTES} that "
        "servers take. Nothing was paid; the seller's terms must become shorter.",
        {"bytes": len(value), "limit_bytes": _LIMIT_BYTES},
    )
