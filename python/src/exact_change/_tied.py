"""Ties receipts to the responses that their payments bought."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from ._kernel.signals import void
from ._kernel.steps import bounded
from ._kernel.task import Steps
from ._receipt import Receipt

if TYPE_CHECKING:
    from ._payments.context import PaymentContext
    from ._payments.present import LiveReceipt


# Receipts by the identity of the response: in some libraries, responses with equal contents are
# equal.
_tied: dict[int, tuple[weakref.ref[Any], LiveReceipt]] = {}


def tie_receipt(response: Any, receipt: LiveReceipt) -> None:
    """Ties a receipt to the response that its payment bought, as long as the response exists."""
    key = id(response)
    reference = weakref.ref(response, lambda _: void(_tied.pop(key, None)))
    _tied[key] = reference, receipt


def receipt_of(response: object) -> Receipt | None:
    """Returns the current receipt of the payment for a response; None if nothing was paid.

    To wait for the chain, call ``client.settled(response)``.

    >>> receipt_of(client.get("https://api.example.com/premium")).payment.ui_amount
    """
    live = live_receipt(response)
    return None if live is None else live.read()


def settled_within(
    live: LiveReceipt, context: PaymentContext | None, timeout: float | None
) -> Steps[Receipt]:
    """Does the work of ``live.settled``; raises ``TimeoutError`` after ``timeout`` seconds."""
    if timeout is None:
        return (yield from live.settled(context, None))
    return (
        yield from bounded(
            timeout * 1000,
            lambda: TimeoutError(f"The chain did not decide within {timeout:g} s."),
            [],
            partial(live.settled, context),
        )
    )


def live_receipt(response: object) -> LiveReceipt | None:
    """Returns the receipt that is tied to a response; None if nothing was paid."""
    known = _tied.get(id(response))
    return known[1] if known is not None and known[0]() is response else None
