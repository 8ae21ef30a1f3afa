"""Errors of a service, as problem JSON (RFC 9457)."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .._base.json_types import is_list, is_record
from .._base.names import snake_keys
from .._base.text import clean_text
from .._spec import table
from ..errors import ErrorCode, ExactChangeError, Moved, failure
from .details import DETAILS, words_in
from .fields import digits
from .messages import untrusted
from .schema import Maybe, Misfit, list_of, object_of, one_of, shaped, up_to, within, words

PROBLEM_TYPE = "application/problem+json"
_errors = table("errors")
_CODES: Mapping[str, Any] = _errors["codes"]
_OF_SERVICES: Mapping[str, Any] = _errors["serviceCodes"]
# Only a party that signs and pays can know of these,
_OF_A_PAYER = (
    "signing_failed",
    "self_check_failed",
    "payment_rejected",
    "payment_uncertain",
    "payment_in_progress",
    "already_spent",
)
# and of these only one that sends.
_OF_A_SENDER = ("swap_failed", "swap_expired", "swap_uncertain")
# What the chain says of a signed swap, if the service is honest; its signature is there to look up.
_OF_THE_CHAIN = ("swap_failed", "swap_expired")
# The others are said before any of the request becomes a call.
_AFTER_THE_CALL = ("internal_error", "cancelled")


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
        "type": up_to(200, "must be text."),
        "title": words,
        "status": within(400, 599),
        "detail": up_to(4_096, "must be text."),
        "code": shaped("must be a code.", "[a-z]+(?:_[a-z]+)*", 64),
        "funds": one_of(["untouched", "swapped", "uncertain", "spent"]),
        "retry": one_of(["never", "same", "fresh"]),
        "moved": list_of(_moved, "must be a list.", 16),
        "details": _any_object,
        "untrusted": Maybe(untrusted),
    },
    "must be a problem.",
)


def error_of(value: object, *, is_sent: bool = False) -> ExactChangeError:
    """The error that a service's problem stands for.

    Of the same class, with the same ``code``, ``details``, ``retry``. What the service says in
    words is cleaned, and under ``untrusted``; the message is ours. Of the money it is believed
    nothing but ``untouched``, unless ``is_sent`` says that this call handed it something signed:
    then also ``swapped`` and ``uncertain``. A problem that claims more, or is none, becomes
    ``invalid_response``, and says nothing of what was handed over: that may still land.
    """
    try:
        said = _problem(value)
    except Misfit:
        return unusable("its error is no problem JSON of this interface", is_sent)
    code, own = said["code"], {"detail": clean_text(said["detail"])}
    if code in _OF_SERVICES:
        return _refused(code, said["retry"], is_sent, own)
    named = {"code": code, **own}
    if code not in _CODES:
        return unusable("its error has a code that this version does not know", is_sent, named)
    moved = [Moved(**snake_keys(one)) for one in said["moved"]]
    if not _is_trusted(code, said["funds"], moved, is_sent):
        return unusable("its error claims what only this side can know", is_sent, named)
    try:
        details = DETAILS[code](said["details"])
    except Misfit:
        return unusable("the numbers of its error do not fit its code", is_sent, named)
    funds, retry = said["funds"], said["retry"]
    # Of something signed no service is believed that it came to nothing: sent again it is the same,
    # and another signed beside it is not.
    if is_sent and funds == "untouched" and code not in _OF_THE_CHAIN:
        funds, retry = "uncertain", "same"
    title = _CODES[code]["title"]
    return failure(
        code,
        f"{title}, says the service. Its own words are in untrusted['detail'].",
        snake_keys(details),
        funds=funds,
        moved=moved,
        retry=retry,
        untrusted={**said.get("untrusted", {}), **words_in(said["details"]), **own},
    )


def unusable(reason: str, is_sent: bool, said: Mapping[str, str] | None = None) -> ExactChangeError:
    """An answer of a service that nothing can be made of.

    After something signed was handed over, what became of it is not known.
    """
    more: dict[str, Any] = {"funds": "uncertain", "retry": "same"} if is_sent else {}
    return failure(
        "invalid_response",
        f"The service's answer cannot be used: {reason}. Try again, or use another.",
        {"service": "service", "reason": reason},
        untrusted=said,
        **more,
    )


def _is_trusted(code: ErrorCode, funds: str, moved: Sequence[Moved], is_sent: bool) -> bool:
    """Whether a service that quotes, builds and plans for a client can know what its error says.

    Of money, which would be taken for true.
    """
    if code in _OF_A_PAYER:
        return False
    if not is_sent:
        return funds == "untouched" and not moved and code not in _OF_A_SENDER
    return funds != "spent" and all(one.kind == "swap" for one in moved)


def _refused(code: str, retry: str, is_sent: bool, said: Mapping[str, str]) -> ExactChangeError:
    title = _OF_SERVICES[code]["title"]
    more: dict[str, Any] = {"retry": retry}
    if is_sent and code in _AFTER_THE_CALL:
        more = {"funds": "uncertain", "retry": "same"}
    return failure(
        "invalid_response",
        f"The service refused the request: {title}. Its own words are in untrusted['detail'].",
        {"service": "service", "reason": code},
        untrusted=said,
        **more,
    )
