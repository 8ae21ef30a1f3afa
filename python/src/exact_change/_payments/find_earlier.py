"""Attempts that a call may be repeating."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._events import Emit
from .._journal.types import Attempt
from .._kernel.task import Steps
from .call import Call
from .claims import body_claim, drop_gone
from .context import PaymentContext
from .reconcile.earlier_errors import in_progress, mismatch, or_unread

# How many windows a caller has that was being told when its process ended.
_UNHEARD_WINDOWS = 10


class RepeatedCall(NamedTuple):
    """A call, by what it may repeat."""

    fingerprint: str
    idempotency_key: str | None
    # On the caller's word the request may reach the seller twice.
    is_repeatable: bool
    call: Call
    emit: Emit
    started_at: int


def find_earlier(context: PaymentContext, repeat: RepeatedCall) -> Steps[list[Attempt]]:
    """Those that were signed for the same request, and whose answer may not have been heard."""
    key, fingerprint = repeat.idempotency_key, repeat.fingerprint
    similar, is_at_work = yield from or_unread(_read_similar(context, fingerprint, key))
    found: list[Attempt] = []
    for one in similar:
        if key is not None and one["fingerprint"] != fingerprint:
            raise mismatch()
        if "payment" not in one or "receipt" not in one or one["state"] == "unsettled":
            continue
        if key is not None and is_at_work(one["id"]):
            raise in_progress({"payer_signature": one["payment"]["payerSignature"]})
        # Parallel calls without a key are separate purchases, and so are later ones once the answer
        # arrived, or was told to be lost.
        is_under_way = is_at_work(one["id"]) or is_at_work(body_claim(one["id"]))
        is_lost = (
            not one["delivered"]
            and not is_under_way
            and not any(
                later.get("resigns") == one["id"] and later["delivered"] for later in similar
            )
        )
        if key is not None or (is_lost and _is_untold(context, one)):
            found.append(one)
    ids = {one["id"] for one in found}

    def replaces(later: Attempt, id_: str) -> bool:
        if later.get("resigns") != id_ or "payment" not in later:
            return False
        return later["state"] != "unsettled" and later["id"] not in ids

    # One whose successor is at work, or was told of, is left alone with it.
    return [one for one in found if not any(replaces(later, one["id"]) for later in similar)]


def _read_similar(
    context: PaymentContext, fingerprint: str, key: str | None
) -> Steps[tuple[list[Attempt], Callable[[str], bool]]]:
    """Attempts that may be at the same request, and whether a call holds a claim on one."""
    first = yield from context.journal.similar(context.owner, fingerprint, key)
    asked = [
        name
        for one in first
        if "payment" in one and (key is not None or not one["delivered"])
        for name in (one["id"], body_claim(one["id"]))
    ]
    if not asked:
        return first, lambda _claim: False
    yield from drop_gone(context)
    live = yield from context.claims.live(asked)
    over = set(asked) - live
    # Again: one whose claim had ended by now may be on record as delivered, which the first reading
    # was too early for. What was signed in between is at work.
    again = first
    if over:
        again = yield from context.journal.similar(context.owner, fingerprint, key)
    return again, lambda claim: claim not in over


def _is_untold(context: PaymentContext, attempt: Attempt) -> bool:
    """Whether a caller may not have heard that it is paid.

    Or so lately that an equal call means the same purchase.
    """
    window, now = context.config.retry_window, context.now()
    if "toldAt" in attempt:
        return now - attempt["toldAt"] <= window
    return "tellingAt" not in attempt or now - attempt["tellingAt"] <= window * _UNHEARD_WINDOWS
