"""Payment terms of a response or of JSON that a caller has."""

from __future__ import annotations

from typing import Any, Mapping, cast

from .._base.headers import Headers
from .._base.options import refuse
from .._x402.parse import parse_payment_required
from .._x402.types import PaymentRequired
from ..errors import failure


def terms_in(response: Any) -> PaymentRequired | None:
    """Returns the payment terms of a response of httpx or requests; None if it is no 402.

    Reads the body, which stays in the response. Raises ``ProtocolError``
    (``malformed_payment_required``).
    """
    if response.status_code != 402:
        return None
    pairs = ((str(name), str(value)) for name, value in response.headers.items())
    # A response of httpx that was made by hand has no request, and `url` raises then.
    url = getattr(response, "_request", True) and str(response.url or "")
    text: str = response.text
    return parse_payment_required(headers=Headers(pairs), body=text, url=url or None)


def parts_of(answer: Any) -> Mapping[str, Any]:
    """Returns a 402 as a service reads it, made from a response of httpx or requests.

    Returns a mapping as it is. Raises ``ConfigError`` (``invalid_option``) for anything else.
    """
    if isinstance(answer, Mapping):
        return cast("Mapping[str, Any]", answer)
    if not hasattr(answer, "status_code"):
        raise refuse(
            "payment_required",
            "must be a response of httpx or requests, or its url, status, headers and body.",
        )
    return {
        "url": str(answer.url),
        "status": answer.status_code,
        "headers": {str(name): str(value) for name, value in answer.headers.items()},
        "body": answer.text,
    }


def required_terms(source: Any) -> PaymentRequired:
    """Returns the terms of a 402 or of JSON; returns terms as they are.

    Raises ``malformed_payment_required``.
    """
    terms: PaymentRequired | None
    if isinstance(source, PaymentRequired):
        return source
    if isinstance(source, Mapping):
        terms = parse_payment_required(body=cast("Mapping[str, Any]", source))
    else:
        # A response of another package, such as aiohttp, has no `status_code`.
        terms = terms_in(source) if hasattr(source, "status_code") else None
    if terms is None:
        raise failure(
            "malformed_payment_required",
            "This asks for no x402 payment. Give a 402 with payment terms, or its terms.",
            {"reason": "no payment terms"},
        )
    return terms
