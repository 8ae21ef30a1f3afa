"""What a payment is made for, and by."""

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
    """What a payment is for."""

    url: str
    method: str
    host: str
    fingerprint: str
    idempotency_key: str | None = None
    # The attempt that this one is signed after.
    resigns: str | None = None


class PayTask(NamedTuple):
    """One payment that is being made."""

    id: str
    purpose: Purpose
    signal: Signal | None
    emit: Emit
    # Grows by what lands on the way, also if the payment fails.
    moved: list[Moved]
    # Milliseconds since the epoch.
    started_at: int


# Chooses the offer to pay, and signs the payment for it.
SignFor = Callable[[PaymentRequired, PayTask, "Refuse | None"], Steps[OpenPayment]]
