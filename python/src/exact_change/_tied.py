"""Ties receipts to the responses that their payments bought."""

from __future__ import annotations

import weakref
from typing import Any

from typing_extensions import Protocol

from ._kernel.signals import Signal, void
from ._kernel.steps import bounded
from ._kernel.task import Steps
from ._receipt import Receipt


class LiveReceipt(Protocol):
    """The current receipt of a payment, and a way to wait until the chain has decided."""

    def read(self) -> Receipt:
        """Returns the current receipt."""
        ...

    def settled(self, signal: Signal | None) -> Steps[Receipt]:
        """Waits until the chain has decided, and returns the receipt.

        Raises the signal's reason, or ``ConfigError`` (``client_closed``).
        """
        ...


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
    live = _live(response)
    return None if live is None else live.read()


def settled_within(response: object, timeout: float | None) -> Steps[Receipt | None]:
    """Waits until the chain has decided, and returns the receipt of a response.

    None if nothing was paid. Raises ``TimeoutError`` after ``timeout`` seconds.
    """
    live = _live(response)
    if live is None:
        return None
    if timeout is None:
        return (yield from live.settled(None))
    return (
        yield from bounded(
            timeout * 1000,
            lambda: TimeoutError(f"The chain did not decide within {timeout:g} s."),
            [],
            live.settled,
        )
    )


def _live(response: object) -> LiveReceipt | None:
    known = _tied.get(id(response))
    return known[1] if known is not None and known[0]() is response else None
