"""Reads the payment terms of a response, and the seller's answer to a paid request."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .._kernel.deadline import start_deadline
from .._kernel.signals import Signal, check
from .._kernel.task import Steps
from .._x402.json import MAX_CHARACTERS
from .._x402.parse import Malformed, claims_payment, find_payment_required, malformed
from .._x402.settlement import rejection_reason, settlement_claim_of
from .._x402.types import PaymentRequired, SettlementClaim
from ..errors import failure
from .call import Reply

# Longest wait for a v1 body beside a valid v2 header.
_FALLBACK_WAIT_MS = 1_000
# Content types that are never JSON; some of these bodies never end.
_STREAMS = re.compile(r"\s*(?:text/event-stream|multipart/|image/|audio/|video/|font/)", re.I)
_JSON_TYPE = re.compile(r"\s*[a-z]+/(?:[a-z0-9.-]+\+)?json\b", re.I)
# The byte order mark of UTF-8.
_MARK = b"\xef\xbb\xbf"


# Values of `_Body.end` after which the rest of the body cannot matter.
_OVER = ("whole", "dismissed")


class _Body(NamedTuple):
    text: str
    # `whole`; `dismissed` if it cannot be a JSON object; or why it was not read to its end:
    # `broken`, `late` or `capped`.
    end: str


def read_terms(
    reply: Reply, timeout_ms: float, signal: Signal | None
) -> Steps[PaymentRequired | None]:
    """Returns the payment terms of a response; None if it is not a payment request.

    It reads only as much of the body as it needs, up to a limit and a deadline. The caller can
    still read the whole body.
    """
    if reply.status != 402:
        return None
    check(signal)
    headers, url = reply.headers, reply.url
    header: Any = None
    if "payment-required" in headers:
        header = find_payment_required(headers, None, url)
    if isinstance(header, PaymentRequired):
        if header.version == 1 or not _may_hold_fallback(reply):
            return header
        body = yield from _peek(reply, min(timeout_ms, _FALLBACK_WAIT_MS), signal)
        if body.end != "whole":
            return header
        return _or_raise(find_payment_required(headers, body.text, url), reply)
    body = yield from _peek(reply, timeout_ms, signal)
    text = body.text if body.end == "whole" else None
    found = find_payment_required(headers, text, url)
    if isinstance(found, PaymentRequired) or body.end in _OVER or not claims_payment(body.text):
        return _or_raise(found, reply)
    if body.end == "late":
        raise failure(
            "timeout",
            f"The seller's payment terms did not arrive within {timeout_ms:g} ms. Nothing was "
            "paid; try again.",
            {"step": "payment_required", "timeout_ms": timeout_ms},
            response=reply.evidence,
        )
    reason = "its body broke off or is not UTF-8"
    if body.end == "capped":
        reason = "its body is too large"
    raise malformed(reason, reply.evidence)


def read_settlement_claim(reply: Reply, timeout_ms: float) -> Steps[SettlementClaim]:
    """Reads what the seller says about the payment in its answer to a paid request."""
    # v2 servers give the reason in a header, v1 servers only in the body.
    reason = rejection_reason(reply.headers) if reply.status == 402 else None
    if reply.status != 402 or reason is not None:
        return settlement_claim_of(reply.headers, reason)
    body = yield from _peek(reply, timeout_ms, None)
    word = settlement_claim_of(reply.headers, rejection_reason(reply.headers, body.text))
    # The unread body may say that the payment is pending, so terms must not count as a refusal.
    return word if body.end in _OVER else word._replace(has_terms=False)


def _peek(reply: Reply, timeout_ms: float, signal: Signal | None) -> Steps[_Body]:
    """Reads the beginning of the body, while it may be a JSON object.

    Raises only the signal's reason.
    """
    if _STREAMS.match(reply.headers.get("content-type") or "") is not None:
        return _Body("", "dismissed")
    deadline = yield from start_deadline(timeout_ms, signal)
    try:
        data, is_whole, is_broken = yield from reply.peek(_is_enough, deadline.signal)
    finally:
        deadline.end()
    check(signal)
    if not _may_be_object(data):
        return _Body("", "dismissed")
    end = "whole" if is_whole else "broken" if is_broken else "late"
    if len(data) > MAX_CHARACTERS:
        end = "capped"
    try:
        # Only a whole body must be valid UTF-8: a cut may split a character.
        return _Body(data.decode("utf-8", "strict" if end == "whole" else "replace"), end)
    except UnicodeDecodeError:
        return _Body(data.decode("utf-8", "replace"), "broken")


def _is_enough(data: bytes) -> bool:
    return len(data) > MAX_CHARACTERS or not _may_be_object(data)


def _may_be_object(data: bytes) -> bool:
    """Returns whether the body may be a JSON object, after space and a byte order mark.

    True while it has only space.
    """
    first = data[3 if data.startswith(_MARK) else 0 :].lstrip(b" \t\r\n")[:1]
    return first in (b"", b"{") or _MARK.startswith(data)


def _or_raise(found: PaymentRequired | Malformed | None, reply: Reply) -> PaymentRequired | None:
    if isinstance(found, Malformed):
        raise malformed(found.reason, reply.evidence)
    return found


def _may_hold_fallback(reply: Reply) -> bool:
    """Returns whether a body may hold v1 terms: v2 servers send ``{}`` beside the header."""
    if _JSON_TYPE.match(reply.headers.get("content-type") or "") is None:
        return False
    length = reply.headers.get("content-length")
    if length is None:
        return True
    return length.isascii() and length.isdigit() and 2 < int(length) <= MAX_CHARACTERS
