"""The payment terms of a response, and what an answer to a paid request says."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .._kernel.deadline import start_deadline
from .._kernel.signals import Signal, check
from .._kernel.task import Steps
from .._x402.json import MAX_CHARACTERS
from .._x402.parse import Malformed, claims_payment, find_payment_required, malformed
from .._x402.settlement import rejection_reason, word_of
from .._x402.types import PaymentRequired, SellersWord
from ..errors import failure
from .call import Reply

# How long a good header waits for the body that may hold a fallback.
_FALLBACK_WAIT_MS = 1_000
# Never JSON, and some of them never end.
_STREAMS = re.compile(r"\s*(?:text/event-stream|multipart/|image/|audio/|video/|font/)", re.I)
_JSON_TYPE = re.compile(r"\s*[a-z]+/(?:[a-z0-9.-]+\+)?json\b", re.I)
_MARK = b"\xef\xbb\xbf"


# Ends of bodies of which nothing more is to be known.
_OVER = ("whole", "dismissed")


class _Body(NamedTuple):
    text: str
    # `whole`, or why the rest is not there; `dismissed`: it cannot be a JSON object.
    end: str


def read_terms(
    reply: Reply, timeout_ms: float, signal: Signal | None
) -> Steps[PaymentRequired | None]:
    """The payment terms of a response, or None if it is no payment request.

    The response itself stays as it is: its body is read no further than needed, at most 64 KiB and
    until the deadline, and can be read again.
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


def read_word(reply: Reply, timeout_ms: float) -> Steps[SellersWord]:
    """What an answer to a paid request says of its payment."""
    # v2 servers say it in a header, v1 servers only in the body.
    reason = rejection_reason(reply.headers) if reply.status == 402 else None
    if reply.status != 402 or reason is not None:
        return word_of(reply.headers, reason)
    body = yield from _peek(reply, timeout_ms, None)
    word = word_of(reply.headers, rejection_reason(reply.headers, body.text))
    # What is missing may say that the payment is pending: no terms make a refusal of it then.
    return word if body.end in _OVER else word._replace(has_terms=False)


def _peek(reply: Reply, timeout_ms: float, signal: Signal | None) -> Steps[_Body]:
    """The beginning of the body, for as long as it may be a JSON object.

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
        # A cut may fall within a character, so only a whole body must be whole UTF-8.
        return _Body(data.decode("utf-8", "strict" if end == "whole" else "replace"), end)
    except UnicodeDecodeError:
        return _Body(data.decode("utf-8", "replace"), "broken")


def _is_enough(data: bytes) -> bool:
    return len(data) > MAX_CHARACTERS or not _may_be_object(data)


def _may_be_object(data: bytes) -> bool:
    """Whether it begins a JSON object, after space and a byte order mark.

    Undecided as long as it is all space.
    """
    first = data[3 if data.startswith(_MARK) else 0 :].lstrip(b" \t\r\n")[:1]
    return first in (b"", b"{") or _MARK.startswith(data)


def _or_raise(found: PaymentRequired | Malformed | None, reply: Reply) -> PaymentRequired | None:
    if isinstance(found, Malformed):
        raise malformed(found.reason, reply.evidence)
    return found


def _may_hold_fallback(reply: Reply) -> bool:
    """v2 servers answer ``{}`` beside the header; only a JSON body with more is worth a look."""
    if _JSON_TYPE.match(reply.headers.get("content-type") or "") is None:
        return False
    length = reply.headers.get("content-length")
    if length is None:
        return True
    return length.isascii() and length.isdigit() and 2 < int(length) <= MAX_CHARACTERS
