"""Errors for a call that may repeat an earlier purchase."""

from __future__ import annotations

from typing import Any, Mapping, TypeVar

from ..._journal.registry import OpenPayment
from ..._kernel.task import Steps
from ..._receipt import read_receipt
from ...errors import ExactChangeError, Moved, failure

T = TypeVar("T")


def already_spent(open_: OpenPayment, response: object = None) -> ExactChangeError:
    """Returns the error for a purchase that is paid already."""
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
    """Returns the swap of an attempt's receipt as a list of moved funds."""
    swap = read_receipt(open_.receipt).swap
    return [] if swap is None else [Moved("swap", *swap[:5])]


def payment_uncertain(open_: OpenPayment, cause: Exception | None = None) -> ExactChangeError:
    """Returns the error for an earlier payment that may still settle."""
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
        if raised.code != "journal_unavailable" or raised.funds != "untouched":
            raise
        error = raised
    raise failure(
        "journal_unavailable",
        f"{error} A payment for an equal call may be on record: once the journal works, repeat the "
        "same call, which never pays twice.",
        error.details,
        funds="uncertain",
        retry="never" if error.retry == "never" else "same",
        cause=error.__cause__,
    )
