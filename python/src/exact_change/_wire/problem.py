"""Reads the errors of a service, which it sends as problem JSON (RFC 9457)."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from typing_extensions import Literal

from .._base.json_types import is_list, is_record
from .._base.names import snake_keys
from .._base.text import clean_text
from .._spec import table
from ..errors import ErrorCode, ExactChangeError, Moved, failure
from .details import DETAILS, words_in
from .fields import digits
from .messages import untrusted
from .schema import Maybe, Misfit, list_of, object_of, one_of, shaped, text_up_to, within, words

PROBLEM_TYPE = "application/problem+json"
# What the signed bytes of a request are. With both, the service takes the payment.
Signed = Literal["swap", "payment"]
_errors = table("errors")
_CODES: Mapping[str, Any] = _errors["codes"]
_OF_SERVICES: Mapping[str, Any] = _errors["serviceCodes"]
# Only a party that signs and pays can know these errors.
_OF_A_PAYER = (
    "signing_failed",
    "self_check_failed",
    "payment_rejected",
    "payment_uncertain",
    "payment_in_progress",
    "already_spent",
)
# Only a party that sends the swap can know these errors.
_OF_A_SENDER = ("swap_failed", "swap_expired", "swap_uncertain")
# Codes by which a service reports the end of a signed swap. The caller can look up its signature.
_OF_THE_CHAIN = ("swap_failed", "swap_expired")


def _any_object(value: Any) -> Any:
    if not is_record(value) and not is_list(value):
        raise Misfit("must be an object.")
    return value if is_record(value) else {}


_moved = object_of(
    {
        "kind": one_of(["swap", "payment"]),
        "signature": words,
        "inputMint": Maybe(words),
        "inAmount": Maybe(digits),
        "outputMint": Maybe(words),
        "outAmount": Maybe(digits),
    }
)
_problem = object_of(
    {
        "type": text_up_to(200, "must be text."),
        "title": words,
        "status": within(400, 599),
        "detail": text_up_to(4_096, "must be text."),
        "code": shaped("must be a code.", "[a-z]+(?:_[a-z]+)*", 64),
        "funds": one_of(["untouched", "swapped", "uncertain", "spent"]),
        "retry": one_of(["never", "same", "fresh"]),
        "moved": list_of(_moved, "must be a list.", 16),
        "details": _any_object,
        "untrusted": Maybe(untrusted),
    },
    "must be a problem.",
)


def error_of(value: object, *, sent: Signed | None = None) -> ExactChangeError:
    """Returns the error for a problem of a service.

    It has the same class, ``code``, ``details`` and ``retry``. The message is ours; the service's
    own words are cleaned, and under ``untrusted``. The service's claim about the funds counts only
    if it is ``untouched``. ``sent`` is what this call gave it signed. After a swap, ``swapped`` and
    the swap's end count too; each other error leaves the funds ``uncertain``, because what was
    signed may still land. A problem that claims more, or that cannot be read, becomes
    ``invalid_response``.
    """
    try:
        problem = _problem(value)
    except Misfit:
        return unusable("its error is no problem JSON of this interface", sent)
    code, own_words = problem["code"], {"detail": clean_text(problem["detail"])}
    if code in _OF_SERVICES:
        return _refused(code, problem["retry"], sent, own_words)
    named = {"code": code, **own_words}
    if code not in _CODES:
        return unusable("its error has a code that this version does not know", sent, named)
    moved = [Moved(**snake_keys(entry)) for entry in problem["moved"]]
    if not _is_trusted(code, problem["funds"], moved, sent):
        return unusable("its error claims what only this side can know", sent, named)
    try:
        details = DETAILS[code](problem["details"])
    except Misfit:
        return unusable("the numbers of its error do not fit its code", sent, named)
    funds, retry = problem["funds"], problem["retry"]
    # A service cannot prove that a signed transaction came to nothing. The caller may send the same
    # bytes again, but must not sign another transaction. `never` counts if the service too calls
    # the funds uncertain: then a person looks at the chain.
    is_known = (
        sent is None
        or code in _OF_THE_CHAIN
        or (sent == "swap" and funds == "swapped")
        or (funds == "uncertain" and retry == "never")
    )
    if not is_known:
        funds, retry = "uncertain", "same"
    title = _CODES[code]["title"]
    return failure(
        code,
        f"{title}, says the service. Its own words are in untrusted['detail'].",
        snake_keys(details),
        funds=funds,
        moved=moved,
        retry=retry,
        untrusted={**problem.get("untrusted", {}), **words_in(problem["details"]), **own_words},
    )


def unusable(
    reason: str, sent: Signed | None = None, service_words: Mapping[str, str] | None = None
) -> ExactChangeError:
    """Returns the error for an unusable answer of a service.

    With ``sent``, the service had a signed transaction, so that its fate is not known.
    """
    more: dict[str, Any] = {} if sent is None else {"funds": "uncertain", "retry": "same"}
    return failure(
        "invalid_response",
        f"The service's answer cannot be used: {reason}. Try again, or use another.",
        {"service": "service", "reason": reason},
        untrusted=service_words,
        **more,
    )


def _is_trusted(code: ErrorCode, funds: str, moved: Sequence[Moved], sent: Signed | None) -> bool:
    """Whether a service can know what its error claims about the funds.

    Such a service only quotes, builds and plans for a client. ``sent`` is what this call gave it
    signed. Only after a swap it may know the swap's end, because it sends swaps, and no payments.
    """
    if code in _OF_A_PAYER or (sent != "swap" and code in _OF_A_SENDER):
        return False
    if sent is None:
        return funds == "untouched" and not moved
    return funds != "spent" and all(entry.kind == "swap" for entry in moved)


def _refused(
    code: str, retry: str, sent: Signed | None, service_words: Mapping[str, str]
) -> ExactChangeError:
    """Returns the error for a refusal of a request.

    With ``sent``, an equal request before may have got through.
    """
    title = _OF_SERVICES[code]["title"]
    more: dict[str, Any] = {"retry": retry}
    if sent is not None:
        more = {"funds": "uncertain", "retry": "same"}
    return failure(
        "invalid_response",
        f"The service refused the request: {title}. Its own words are in untrusted['detail'].",
        {"service": "service", "reason": code},
        untrusted=service_words,
        **more,
    )
