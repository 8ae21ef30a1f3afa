"""Receipts, tied to the responses that they paid for."""

from __future__ import annotations

import weakref
from typing import Any

from .._events import Emit
from .._journal.registry import OpenPayment
from .._kernel.signals import Signal
from .._kernel.steps import bounded
from .._kernel.task import Steps
from .._receipt import Receipt, read_receipt
from .context import PaymentContext
from .reconcile.monitor import decided


class LiveReceipt:
    """The receipt of a payment as it stands, and how to wait for its end."""

    def __init__(self, context: PaymentContext, open_: OpenPayment, emit: Emit) -> None:
        self._context = context
        self._open = open_
        self._emit = emit

    def read(self) -> Receipt:
        """As it stands."""
        return read_receipt(self._open.receipt)

    def settled(self, signal: Signal | None) -> Steps[Receipt]:
        """Once the chain has decided.

        Raises the signal's reason, or ``ConfigError`` (``client_closed``).
        """
        return decided(self._context, self._open, self._emit, signal)


# By identity: responses of some clients are equal if their contents are.
_tied: dict[int, tuple[weakref.ref[Any], LiveReceipt]] = {}


def tie_receipt(response: Any, context: PaymentContext, open_: OpenPayment, emit: Emit) -> None:
    """Ties a receipt to the response that it paid for, for as long as that is there."""
    key = id(response)
    _tied[key] = (
        weakref.ref(response, lambda _: _tied.pop(key, None) and None),
        LiveReceipt(context, open_, emit),
    )


def live_receipt(response: object) -> LiveReceipt | None:
    """The receipt of a response; None if nothing was paid for it."""
    known = _tied.get(id(response))
    return known[1] if known is not None and known[0]() is response else None


def receipt_of(response: object) -> Receipt | None:
    """The receipt of the payment that a response cost, as it stands now.

    None if nothing was paid. Wait for the chain by ``client.settled(response)``.

    >>> receipt_of(client.get("https://api.example.com/premium")).payment.ui_amount
    """
    live = live_receipt(response)
    return None if live is None else live.read()


def settled_within(response: object, timeout: float | None) -> Steps[Receipt | None]:
    """The receipt of a response once the chain has decided; ``timeout`` in seconds."""
    live = live_receipt(response)
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
