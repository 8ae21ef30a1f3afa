"""Errors for a call that may repeat an earlier purchase."""

from __future__ import annotations

from typing import Any, Mapping, TypeVar

from ..._journal.registry import OpenPayment
from ..._kernel.task import Steps
from ..._receipt import read_receipt
from ...errors import ErrorCode, ExactChangeError, Moved, failure, is_code

T = TypeVar("T")
_UNREAD: tuple[ErrorCode, ...] = (
    "journal_unavailable",
    "journal_damaged",
    "journal_locked",
    # A newer version wrote the journal.
    "invalid_option",
)


def already_spent(open_: OpenPayment, response: object = None) -> ExactChangeError:
    """Returns the error for a purchase that is paid already."""
    details = {"payer_signature": open_.payment["payerSignature"]}
    paid = paid_by(open_)
    for moved in paid:
        details["signature"] = moved.signature
    if open_.attempt["delivered"]:
        message = (
            "This key's purchase is paid, and its answer was delivered. A new idempotency_key buys "
            "again; so does an equal call without one."
        )
    else:
        message = (
            "This purchase is paid already. Ask the seller for its answer with the signature. A "
            "new idempotency_key buys again; so does an equal call without one, after retry_window."
        )
    return failure(
        "already_spent",
        message,
        details,
        funds="spent",
        moved=[*swapped_by(open_), *paid],
        response=response,
    )


def paid_by(open_: OpenPayment) -> list[Moved]:
    """Returns the payment as a list of moved funds; empty if the chain has not shown it."""
    attempt, signature = open_.attempt, read_receipt(open_.receipt).payment.signature
    if signature is None:
        return []
    return [Moved("payment", signature, attempt["mint"], attempt["amount"])]


def state_text(open_: OpenPayment) -> str:
    """Says what the chain may still do with a payment."""
    height = open_.payment["lastValidBlockHeight"]
    if paid_by(open_):
        return "has settled"
    return f"may still settle until block height {height} is final"


def swapped_by(open_: OpenPayment) -> list[Moved]:
    """Returns the swap of an attempt's receipt as a list of moved funds."""
    swap = read_receipt(open_.receipt).swap
    return [] if swap is None else [Moved("swap", *swap[:5])]


def payment_uncertain(open_: OpenPayment, cause: Exception | None = None) -> ExactChangeError:
    """Returns the error for an earlier payment that may still settle, or may be presented again."""
    height, paid = open_.payment["lastValidBlockHeight"], paid_by(open_)
    return failure(
        "payment_uncertain",
        f"An earlier payment for this same call {state_text(open_)}. Repeat the call once that "
        "is decided, or pay anew by giving a new idempotency_key.",
        {"payer_signature": open_.payment["payerSignature"], "last_valid_block_height": height},
        funds="spent" if paid else "uncertain",
        moved=[*swapped_by(open_), *paid],
        cause=cause,
    )


def key_mismatch() -> ExactChangeError:
    """Returns the error for a key that was used for another request."""
    return failure(
        "idempotency_mismatch",
        "This idempotency_key was used for another request. Use one key for one request (method, "
        "URL and body), and a new one for another.",
    )


def in_progress(details: Mapping[str, Any]) -> ExactChangeError:
    """Returns the error for a key that another call is using now."""
    return failure(
        "payment_in_progress",
        "A call with this idempotency_key is being paid right now. Wait for its answer.",
        details,
        funds="uncertain",
    )


def uncertain_if_unread(steps: Steps[T]) -> Steps[T]:
    """Runs steps that read whether a call is paid already.

    If the journal fails, the error says that funds are uncertain: the call may repeat a paid call.
    """
    try:
        return (yield from steps)
    except ExactChangeError as raised:
        if not is_code(raised, *_UNREAD) or raised.funds != "untouched":
            raise
        error = raised
    # What repairs a damaged journal may leave an empty one, which finds no payment.
    advice = (
        "only a sound copy of the journal finds it. Without one, look at the transactions of the "
        "wallet before you repeat the call."
        if error.code == "journal_damaged"
        else "once the journal works, repeat the same call, to find that payment."
    )
    raise as_uncertain(error, f"A payment for an equal call may be on record: {advice}")


def as_uncertain(error: ExactChangeError, why: str) -> ExactChangeError:
    """Returns a copy of an error, for a failure that leaves unknown what a payment does."""
    return failure(
        error.code,
        f"{error} {why}",
        error.details,
        funds="uncertain",
        moved=error.moved,
        retry="never" if error.retry == "never" else "same",
        untrusted=error.untrusted,
        cause=error.__cause__,
        response=error.response,
    )
