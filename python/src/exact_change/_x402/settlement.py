"""Reads what the seller claims about a settlement, and why it refused a payment."""

from __future__ import annotations

import re

from .._base.headers import Headers
from .._base.json_types import Record, record_of
from .._base.text import clean_text, trim
from .header import decode_header
from .parse import body_object
from .types import Settlement, SettlementClaim

# Base58 of 64 bytes.
SIGNATURE = re.compile("[1-9A-HJ-NP-Za-km-z]{64,88}")
# The codes that decide an outcome. Facilitators may put a prefix before the code.
_DECISIVE = re.compile("(?:^|_)(settlement_pending|duplicate_settlement)$")


def read_settlement(headers: Headers) -> Settlement | None:
    """Reads what the seller claims about the settlement.

    It is in ``PAYMENT-RESPONSE`` or ``X-PAYMENT-RESPONSE``; None if neither header can be read.
    """
    claims = _decoded(headers, "payment-response")
    if claims is None:
        claims = _decoded(headers, "x-payment-response")
    if claims is None:
        return None
    transaction = _text(claims.get("transaction")) or ""
    return Settlement(
        claims.get("success") is True,
        transaction if SIGNATURE.fullmatch(transaction) is not None else "",
        _text(claims.get("network")) or "",
        _text(claims.get("payer")),
        _reason(claims.get("errorReason")),
    )


def rejection_reason(headers: Headers, body: str | None = None) -> str | None:
    """Returns why the seller refused a payment, in its own words, cleaned; None if unknown."""
    reason = _reason(record_of(_decoded(headers, "payment-required")).get("error"))
    if reason is None:
        settlement = read_settlement(headers)
        reason = None if settlement is None else settlement.error_reason
    return reason if reason is not None else _reason(record_of(body_object(body)).get("error"))


def settlement_claim_of(headers: Headers, reason: str | None) -> SettlementClaim:
    """Reads what the seller says about the payment in its answer to a paid request."""
    return SettlementClaim(read_settlement(headers), reason, "payment-required" in headers)


def _decoded(headers: Headers, name: str) -> Record | None:
    value = headers.get(name)
    return None if value is None else decode_header(value)


def _text(value: object) -> str | None:
    return (clean_text(value) or None) if isinstance(value, str) else None


def _reason(raw: object) -> str | None:
    """Cleans a reason. Facilitators in Go write ``_solana_`` for ``_svm_`` (x402.md 1.8)."""
    if not isinstance(raw, str):
        return None
    shown = _text(raw)
    if shown is not None:
        shown = shown.replace("_solana_", "_svm_")
    # Look for the code in the raw text: `clean_text` hides secrets, and a secret may match a part
    # of the code.
    decisive = _DECISIVE.search(trim(raw))
    if decisive is None or (shown is not None and shown.endswith(decisive[1])):
        return shown
    return decisive[1]
