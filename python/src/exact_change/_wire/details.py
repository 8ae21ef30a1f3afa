"""Schemas of the details of each error code, as a service may send them.

Only numbers and names pass. A sentence of a service is hostile, so it goes under ``untrusted``.
"""

from __future__ import annotations

from typing import Any, Mapping

from .._base.text import clean_text
from .._spec import table
from .fields import digits
from .messages import offer_refusal
from .schema import Maybe, Misfit, Schema, count, finite, list_of, object_of, one_of, shaped

# Replaces sentences of a service in `details`.
_ELSEWHERE = "see untrusted"
# Names of details that hold a sentence.
_WORDS = ("reason", "path")
# An address, a name or another short value. It has no space, so it cannot be a sentence.
_text = shaped("must be a name.", "[\x21-\x7e]{1,128}", 128)
_number = finite()


def _sentence(value: Any) -> Any:
    if not isinstance(value, str):
        raise Misfit("must be text.")
    return _ELSEWHERE


def _in_our_words(value: Any) -> Any:
    """Reads a refusal, with our title of its code as the message."""
    refusal = offer_refusal(value)
    untrusted = {**refusal.get("untrusted", {}), "message": refusal["message"]}
    title: str = table("errors")["codes"][refusal["code"]]["title"]
    return {**refusal, "message": title, "untrusted": untrusted}


_none: Mapping[str, Schema | Maybe] = {}
_reason: Mapping[str, Schema | Maybe] = {"reason": _sentence}
_mint: Mapping[str, Schema | Maybe] = {"mint": _text}
_signature: Mapping[str, Schema | Maybe] = {"signature": _text}
_presented: Mapping[str, Schema | Maybe] = {"payerSignature": _text, "lastValidBlockHeight": digits}
# Dollars, base units or a number of payments, as `unit` says.
_cap: Mapping[str, Schema | Maybe] = {"cap": _text, "limit": _text, "amount": _text, "unit": _text}

_fields: Mapping[str, Mapping[str, Schema | Maybe]] = {
    "invalid_option": {"option": _text},
    "invalid_key": _reason,
    "missing_dependency": {"packages": list_of(_text, "must be a list.", 50)},
    "client_closed": _none,
    "idempotency_mismatch": _none,
    "malformed_payment_required": _reason,
    "unsupported_offer": _reason,
    "unsupported_network": {"network": _text},
    "no_payable_offer": {"offers": list_of(_in_our_words, "must be a list.", 64)},
    "insecure_origin": {"origin": _text},
    "body_not_replayable": {"limitBytes": count},
    "header_too_large": {"bytes": count, "limitBytes": count},
    "amount_over_limit": _cap,
    "budget_exhausted": {**_cap, "used": _text},
    "price_unknown": _mint,
    "not_allowed": {"list": _text, "value": _text},
    "approval_refused": {"reason": one_of(["refused", "changed"])},
    "fees_over_limit": {"lamports": digits, "limitLamports": digits},
    "insufficient_funds": {"mint": _text, "required": digits, "available": digits},
    "insufficient_sol": {"requiredLamports": digits, "availableLamports": digits},
    "payee_account_missing": {"payTo": _text, "mint": _text, "tokenAccount": _text},
    "account_unusable": {"account": _text, "reason": _sentence},
    "unknown_mint": _mint,
    "mint_not_supported": {"mint": _text, "reason": _sentence},
    "no_route": {"inputMint": _text, "outputMint": _text},
    "price_impact_too_high": {"priceImpactBps": _number, "limitBps": _number},
    "swap_overhead_too_high": {"lossBps": _number, "limitBps": _number},
    "quote_mismatch": _reason,
    "unsafe_swap": {"rule": _text},
    "transaction_too_large": {"bytes": count},
    "simulation_failed": _reason,
    "self_check_failed": _reason,
    "signing_failed": {"address": _text, "rule": Maybe(_text)},
    "swap_failed": {"signature": _text, "reason": _sentence, "feeLamports": digits},
    "swap_expired": _signature,
    "swap_uncertain": {"signature": _text, "lastValidBlockHeight": digits},
    "payment_rejected": {**_presented, "status": count},
    "payment_uncertain": _presented,
    "payment_in_progress": {"payerSignature": Maybe(_text)},
    "already_spent": {"payerSignature": _text, "signature": Maybe(_text)},
    "journal_unavailable": {"step": _text},
    "journal_locked": {"path": _sentence, "pid": count},
    "journal_damaged": {"path": _sentence, "offset": count},
    "rpc_unavailable": {"method": _text},
    "rpc_wrong_network": {"expected": _text, "actual": _text},
    "jupiter_unavailable": {"status": count},
    "service_unavailable": {"status": count},
    "rate_limited": {"retryAfterMs": count},
    "timeout": {"step": _text, "timeoutMs": count},
    "invalid_response": {"service": _text, "reason": _sentence},
}
DETAILS: Mapping[str, Schema] = {code: object_of(fields) for code, fields in _fields.items()}


def words_in(details: Mapping[str, Any]) -> dict[str, str]:
    """Returns the service's sentences in an error's details, cleaned so that they can be shown."""
    return {
        name: clean_text(text)
        for name, text in details.items()
        if name in _WORDS and isinstance(text, str)
    }
