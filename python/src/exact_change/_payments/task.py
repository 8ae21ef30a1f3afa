"""The purpose of a payment, and the call that makes it."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._events import Emit
from .._journal.registry import OpenPayment
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._x402.types import PaymentRequired
from ..errors import Moved
from .choose import Refuse


class Purpose(NamedTuple):
    url: str
    method: str
    host: str
    fingerprint: str
    idempotency_key: str | None = None
    # Id of the refused attempt that this payment is signed after.
    resigns: str | None = None


class PayTask(NamedTuple):
    # Id of the attempt.
    id: str
    purpose: Purpose
    signal: Signal | None
    emit: Emit
    # Swaps that landed for the payment; the list grows even if the payment fails.
    moved: list[Moved]
    # Milliseconds since the epoch.
    started_at: int


# Chooses the offer to pay, and signs its payment.
SignFor = Callable[[PaymentRequired, PayTask, "Refuse | None"], Steps[OpenPayment]]
