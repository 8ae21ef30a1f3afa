"""Receipts, tied to the responses that they paid for."""

from __future__ import annotations

import weakref
from typing import Any

from typing_extensions import Protocol

from ._kernel.signals import Signal, void
from ._kernel.steps import bounded
from ._kernel.task import Steps
from ._receipt import Receipt


class LiveReceipt(Protocol):
    """The receipt of a payment as it stands, and how to wait for its end."""

    def read(self) -> Receipt:
        """As it stands."""
        ...

    def settled(self, signal: Signal | None) -> Steps[Receipt]:
        """Once the chain has decided.

        Raises the signal's reason, or ``ConfigError`` (``client_closed``).
        """
        ...


# By identity: responses of some clients are equal if their contents are.
_tied: dict[int, tuple[weakref.ref[Any], LiveReceipt]] = {}


def tie_receipt(response: Any, receipt: LiveReceipt) -> None:
    """Ties a receipt to the response that it paid for, for as long as that is there."""
    key = id(response)
    forget = weakref.ref(response, lambda _: void(_tied.pop(key, None)))
    _tied[key] = forget, receipt


def receipt_of(response: object) -> Receipt | None:
    """The receipt of the payment that a response cost, as it stands now.

    None if nothing was paid. Wait for the chain by ``client.settled(response)``.

    >>> receipt_of(client.get("https://api.example.com/premium")).payment.ui_amount
    """
    live = _live(response)
    return None if live is None else live.read()


def settled_within(response: object, timeout: float | None) -> Steps[Receipt | None]:
    """The receipt of a response once the chain has decided; ``timeout`` in seconds."""
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
