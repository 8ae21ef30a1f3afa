"""Finds the earlier attempts that a call may repeat."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._events import Emit
from .._journal.types import Attempt
from .._kernel.task import Steps
from .call import Call
from .claims import body_claim, drop_abandoned_claims
from .context import PaymentContext
from .reconcile.earlier_errors import in_progress, key_mismatch, uncertain_if_unread

# Retry windows that count if the process ended while its caller was being told of the payment.
_UNHEARD_WINDOWS = 10
# The least such window in milliseconds: no caller hears while its process is down.
_LEAST_UNHEARD_MS = 60_000


class RepeatedCall(NamedTuple):
    fingerprint: str
    idempotency_key: str | None
    # Whether the caller allows that the request reaches the seller twice.
    is_repeatable: bool
    call: Call
    emit: Emit
    started_at: int


def find_earlier(context: PaymentContext, repeat: RepeatedCall) -> Steps[list[Attempt]]:
    """Returns the signed attempts at the same request, if the caller may not have their answer.

    Raises if the key belongs to another request, or another call works on an attempt with it.
    """
    key, fingerprint = repeat.idempotency_key, repeat.fingerprint
    similar, is_at_work = yield from uncertain_if_unread(_read_similar(context, fingerprint, key))
    found: list[Attempt] = []
    for attempt in similar:
        if key is not None and attempt["fingerprint"] != fingerprint:
            raise key_mismatch()
        if "payment" not in attempt or "receipt" not in attempt or attempt["state"] == "unsettled":
            continue
        if key is not None and is_at_work(attempt["id"]):
            raise in_progress({"payer_signature": attempt["payment"]["payerSignature"]})
        # Without a key, parallel calls are separate purchases. So is a later call once the caller
        # has the answer, or was told that it is lost.
        is_under_way = is_at_work(attempt["id"]) or is_at_work(body_claim(attempt["id"]))
        is_lost = (
            not attempt["delivered"]
            and not is_under_way
            and not any(
                later.get("resigns") == attempt["id"] and later["delivered"] for later in similar
            )
        )
        if key is not None or (is_lost and _is_untold(context, attempt)):
            found.append(attempt)
    ids = {attempt["id"] for attempt in found}

    def replaces(later: Attempt, id_: str) -> bool:
        if later.get("resigns") != id_ or "payment" not in later:
            return False
        return later["state"] != "unsettled" and later["id"] not in ids

    # Leave out an attempt if its successor is not among the found attempts: a call works on the
    # successor, or the caller was told of it.
    return [
        attempt for attempt in found if not any(replaces(later, attempt["id"]) for later in similar)
    ]


def _read_similar(
    context: PaymentContext, fingerprint: str, key: str | None
) -> Steps[tuple[list[Attempt], Callable[[str], bool]]]:
    """Returns attempts at the same request or with the same key, and a check of claims.

    The check says whether a call may hold the claim of a given name.
    """
    first = yield from context.journal.similar(context.owner, fingerprint, key)
    names = [
        name
        for attempt in first
        if "payment" in attempt and (key is not None or not attempt["delivered"])
        for name in (attempt["id"], body_claim(attempt["id"]))
    ]
    if not names:
        return first, lambda _claim: False
    yield from drop_abandoned_claims(context)
    live = yield from context.claims.live(names)
    ended = set(names) - live

    def is_at_work(claim: str) -> bool:
        return claim not in ended

    def is_left(attempt: Attempt) -> bool:
        id_ = attempt["id"]
        return not is_at_work(id_) and (key is not None or not is_at_work(body_claim(id_)))

    # Read again: if the claims ended after the first read, the attempt may be delivered by now. An
    # attempt that only this read shows is new, so it counts as claimed.
    if not any(map(is_left, first)):
        return first, is_at_work
    again = yield from context.journal.similar(context.owner, fingerprint, key)
    return again, is_at_work


def _is_untold(context: PaymentContext, attempt: Attempt) -> bool:
    """Returns whether an equal call means the same purchase.

    It does if the caller may not have heard that it paid, or heard it within the retry window.
    """
    window, now = context.config.retry_window, context.now()
    if "toldAt" in attempt:
        return now - attempt["toldAt"] <= window
    unheard = _UNHEARD_WINDOWS * max(window, _LEAST_UNHEARD_MS)
    return "tellingAt" not in attempt or now - attempt["tellingAt"] <= unheard
