"""The current receipt of a payment, attached to the response that it paid for."""

from __future__ import annotations

from .._events import Emit
from .._journal.registry import OpenPayment
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._receipt import Receipt, read_receipt
from .context import PaymentContext
from .reconcile.monitor import receipt_once_decided


class LiveReceipt:
    """The receipt of a payment, which changes until the chain has decided."""

    def __init__(self, context: PaymentContext, open_: OpenPayment, emit: Emit) -> None:
        self._context = context
        self._open = open_
        self._emit = emit

    def read(self) -> Receipt:
        """Returns the receipt in its current state."""
        return read_receipt(self._open.receipt)

    def settled(self, signal: Signal | None) -> Steps[Receipt]:
        """Waits until the chain has decided, and returns the receipt."""
        return receipt_once_decided(self._context, self._open, self._emit, signal)
