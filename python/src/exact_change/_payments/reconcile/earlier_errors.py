"""What a repeated call is told."""

from __future__ import annotations

from typing import Any, Mapping, TypeVar

from ..._journal.registry import OpenPayment
from ..._kernel.task import Steps
from ..._receipt import read_receipt
from ...errors import ExactChangeError, Moved, failure

T = TypeVar("T")


def spent(open_: OpenPayment, response: object = None) -> ExactChangeError:
    """The purchase is paid already."""
    attempt = open_.attempt
    signature = read_receipt(open_.receipt).payment.signature
    details = {"payer_signature": open_.payment["payerSignature"]}
    moved = swapped_by(open_)
    if signature is not None:
        details["signature"] = signature
        moved.append(Moved("payment", signature, attempt["mint"], attempt["amount"]))
    return failure(
        "already_spent",
        "This purchase is paid already. Ask the seller for its answer with the signature, or buy "
        "again by giving a new idempotency_key.",
        details,
        funds="spent",
        moved=moved,
        response=response,
    )


def swapped_by(open_: OpenPayment) -> list[Moved]:
    """The swap that an attempt's receipt has, as what moved."""
    swap = read_receipt(open_.receipt).swap
    return [] if swap is None else [Moved("swap", *swap[:5])]


def undecided(open_: OpenPayment, cause: Exception | None = None) -> ExactChangeError:
    """An earlier payment may still settle."""
    height = open_.payment["lastValidBlockHeight"]
    return failure(
        "payment_uncertain",
        "An earlier payment for this same call may still settle until block height "
        f"{height} is final. Repeat the call after that, or pay anew by giving a new "
        "idempotency_key.",
        {"payer_signature": open_.payment["payerSignature"], "last_valid_block_height": height},
        funds="uncertain",
        moved=swapped_by(open_),
        cause=cause,
    )


def mismatch() -> ExactChangeError:
    """A key was used for another request."""
    return failure(
        "idempotency_mismatch",
        "This idempotency_key was used for another request. Use one key for one request (method, "
        "URL and body), and a new one for another.",
    )


def in_progress(details: Mapping[str, Any]) -> ExactChangeError:
    """Another call is under way with the key."""
    return failure(
        "payment_in_progress",
        "A call with this idempotency_key is being paid right now. Wait for its answer.",
        details,
        funds="uncertain",
    )


def or_unread(steps: Steps[T]) -> Steps[T]:
    """Reads whether a call is paid already.

    One that repeats a lost call must not be told that nothing was paid.
    """
    try:
        return (yield from steps)
    except ExactChangeError as raised:
        if raised.code != "journal_unavailable" or raised.funds != "untouched":
            raise
        error = raised
    raise failure(
        "journal_unavailable",
        "The journal could not be read, so nothing was signed or sent by this call; a payment for "
        "an equal one may be on record. Repair the journal, then repeat the same call: it never "
        "pays twice.",
        error.details,
        funds="uncertain",
        retry="same",
        cause=error.__cause__,
    )
