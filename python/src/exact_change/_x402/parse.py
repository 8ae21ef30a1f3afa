"""Reads the payment terms of a 402, x402 v1 and v2, from its headers and its body."""

from __future__ import annotations

import re
from typing import Any, Mapping, NamedTuple, Union

from .._base.headers import Headers
from .._base.js import parse_json, utf16_slice
from .._base.json_types import Record, is_list, is_record
from .._base.text import SPACE
from ..errors import ExactChangeError, failure
from .header import decode_header
from .json import MAX_CHARACTERS, JsonReading, copy_json, read_json
from .types import PaymentRequired, X402Version

_MAX_ACCEPTS = 32
# Keys of an offer that no other protocol uses. Card payments also have `scheme` and `network`.
_OFFER_KEYS = ("payTo", "asset", "maxAmountRequired")
_VERSION_KEY = re.compile(f'"x402Version"[{SPACE}]*:')


class Malformed(NamedTuple):
    """Why a payment request cannot be read, in our words."""

    reason: str


_Found = Union[PaymentRequired, Malformed, None]


def parse_payment_required(
    *,
    headers: Headers | Mapping[str, str] | None = None,
    body: str | Mapping[str, Any] | None = None,
    url: str | None = None,
) -> PaymentRequired | None:
    """Reads the payment terms of a 402; returns None if the response has none.

    Everything in the result is what the seller claims, not judged yet. Raises ``ProtocolError``
    (``malformed_payment_required``) if the response is a payment request that cannot be read.
    """
    found = find_payment_required(headers, body, url)
    if isinstance(found, Malformed):
        raise malformed(found.reason)
    return found


def find_payment_required(
    headers: Headers | Mapping[str, str] | None,
    body: str | Mapping[str, Any] | None = None,
    url: str | None = None,
) -> PaymentRequired | Malformed | None:
    """Reads terms as :func:`parse_payment_required` does, but returns ``Malformed``."""
    response_headers = Headers.of(headers or {})
    in_header = _from_header(response_headers, "payment-required")
    in_body = _from_body(body)
    in_old_header = None
    if isinstance(in_header, PaymentRequired):
        if isinstance(in_body, PaymentRequired) and (in_header.version, in_body.version) == (2, 1):
            in_body.url = url
            in_header.fallback = in_body
        in_header.url = url
        return in_header
    if not isinstance(in_body, PaymentRequired):
        in_old_header = _from_header(response_headers, "x-payment-required")
    for found in (in_body, in_old_header):
        if isinstance(found, PaymentRequired):
            found.url = url
            return found
    return in_header or in_body or in_old_header


def malformed(reason: str, response: object = None) -> ExactChangeError:
    """Returns the error for terms that cannot be read."""
    return failure(
        "malformed_payment_required",
        f"The seller's payment terms cannot be read: {reason}. Nothing was paid; ask the seller.",
        {"reason": reason},
        response=response,
    )


def claims_payment(text: str) -> bool:
    """Returns whether text that :func:`read_json` refuses is a payment request."""
    json = _strip_mark(utf16_slice(text, MAX_CHARACTERS))
    if not json.startswith("{"):
        return False
    try:
        return _is_claim(parse_json(json))
    except ValueError:
        # The text is broken or cut off. Search for the key that no other protocol uses.
        return _VERSION_KEY.search(json) is not None


def body_object(body: str | None) -> Record | None:
    """Returns the body if it is a JSON object within the limits, else None."""
    json = _body_json(body)
    return json.value if json is not None and is_record(json.value) else None


def _from_header(headers: Headers, name: str) -> _Found:
    value = headers.get(name)
    if value is None:
        return None
    json = decode_header(value)
    if json is None:
        return Malformed("its header is not base64 of plain JSON within our bounds")
    return _read_envelope(json)


def _from_body(body: str | Mapping[str, Any] | None) -> _Found:
    json = _body_json(body)
    if json is None:
        return None
    if json.refused is not None:
        is_claim = claims_payment(body) if isinstance(body, str) else _is_claim(body)
        return Malformed(f"its body cannot be taken, {json.refused}") if is_claim else None
    value = json.value
    return _read_envelope(value) if is_record(value) and _is_claim(value) else None


def _body_json(body: object) -> JsonReading | None:
    if not isinstance(body, str):
        return copy_json(body) if is_record(body) or is_list(body) else None
    text = _strip_mark(body)
    return read_json(text) if text.startswith("{") else None


def _is_claim(body: object) -> bool:
    """Returns whether an object is a payment request: ``accepts`` alone does not prove it."""
    if not is_record(body):
        return False
    if "x402Version" in body:
        return True
    accepts = body.get("accepts")
    return is_list(accepts) and any(
        is_record(entry) and any(key in entry for key in _OFFER_KEYS) for entry in accepts
    )


def _strip_mark(text: str) -> str:
    """Removes a byte order mark, which is common before JSON and harmless, and space."""
    return (text[1:] if text.startswith("\ufeff") else text).lstrip(SPACE)


def _read_envelope(envelope: Record) -> PaymentRequired | Malformed:
    accepts = envelope.get("accepts")
    if not is_list(accepts) or not accepts:
        return Malformed("accepts is missing or empty")
    if len(accepts) > _MAX_ACCEPTS:
        return Malformed(f"accepts has more than {_MAX_ACCEPTS} entries")
    if not all(is_record(entry) for entry in accepts):
        return Malformed("accepts holds something that is not an object")
    version = _read_version(envelope.get("x402Version"), accepts)
    if version is None:
        return Malformed("x402Version is neither 1 nor 2")
    error, resource = envelope.get("error"), envelope.get("resource")
    extensions = envelope.get("extensions")
    return PaymentRequired(
        version,
        tuple(accepts),
        error if isinstance(error, str) else None,
        resource if is_record(resource) else None,
        extensions if is_record(extensions) else None,
    )


def _read_version(version: object, entries: list[Record]) -> X402Version | None:
    """Tells the version by the name of the amount if a seller leaves it out."""
    # In Python, True equals 1.
    if isinstance(version, bool):
        return None
    if version == 1:
        return 1
    if version == 2:
        return 2
    if version is not None:
        return None
    is_old = any("maxAmountRequired" in entry and "amount" not in entry for entry in entries)
    return 1 if is_old else 2
