"""The seller's word on a settlement, and why it refused a payment."""

from __future__ import annotations

import re

from .._base.headers import Headers
from .._base.json_types import Record, record_of
from .._base.text import clean_text, trim
from .header import decode_header
from .parse import body_object
from .types import SellersWord, Settlement

# Base58 of 64 bytes.
SIGNATURE = re.compile("[1-9A-HJ-NP-Za-km-z]{64,88}")
# The codes that say more than "refused", at the end of what facilitators put before them.
_DECISIVE = re.compile("(?:^|_)(settlement_pending|duplicate_settlement)$")


def read_settlement(headers: Headers) -> Settlement | None:
    """``PAYMENT-RESPONSE`` or ``X-PAYMENT-RESPONSE``; None if there is none to read."""
    said = _decoded(headers, "payment-response")
    if said is None:
        said = _decoded(headers, "x-payment-response")
    if said is None:
        return None
    transaction = _text(said.get("transaction")) or ""
    return Settlement(
        said.get("success") is True,
        transaction if SIGNATURE.fullmatch(transaction) is not None else "",
        _text(said.get("network")) or "",
        _text(said.get("payer")),
        _reason(said.get("errorReason")),
    )


def rejection_reason(headers: Headers, body: str | None = None) -> str | None:
    """Why the seller refused a payment, in its own words, cleaned. None if it does not say."""
    reason = _reason(record_of(_decoded(headers, "payment-required")).get("error"))
    if reason is None:
        settlement = read_settlement(headers)
        reason = None if settlement is None else settlement.error_reason
    return reason if reason is not None else _reason(record_of(body_object(body)).get("error"))


def word_of(headers: Headers, reason: str | None) -> SellersWord:
    """What an answer to a paid request says of its payment."""
    return SellersWord(read_settlement(headers), reason, "payment-required" in headers)


def _decoded(headers: Headers, name: str) -> Record | None:
    value = headers.get(name)
    return None if value is None else decode_header(value)


def _text(value: object) -> str | None:
    return (clean_text(value) or None) if isinstance(value, str) else None


def _reason(said: object) -> str | None:
    """Facilitators in Go write ``_solana_`` if all others write ``_svm_`` (x402.md 1.8)."""
    if not isinstance(said, str):
        return None
    shown = _text(said)
    if shown is not None:
        shown = shown.replace("_solana_", "_svm_")
    # What decides is read as it came: a secret of ours, which is hidden, may be a part of it.
    decisive = _DECISIVE.search(trim(said))
    if decisive is None or (shown is not None and shown.endswith(decisive[1])):
        return shown
    return decisive[1]
