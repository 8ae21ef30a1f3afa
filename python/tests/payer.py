"""A client whose steps a test counts."""

from __future__ import annotations

import time
from typing import Any, Callable

import pytest

from exact_change import Client, Event, ExactChangeError

from .node import Sandbox, Wallet

PRICE = 10_000


class Payer:
    """A client of a wallet, and what it did."""

    def __init__(self, sandbox: Sandbox, wallet: Wallet, **options: Any) -> None:
        self._sandbox = sandbox
        self.wallet = wallet
        self.client = Client(**sandbox.options(wallet, **options))
        self.events: list[Event] = []
        self.client.on("*", self.events.append)

    def seen(self, kind: str) -> int:
        """How often something was told."""
        return sum(event.type == kind for event in self.events)

    @property
    def signed(self) -> list[str]:
        """What was signed, in order."""
        return [one.type.split(".")[0] for one in self.events if one.type.endswith(".signed")]

    def told(self, kind: str, times: int = 1) -> None:
        """Waits until something was told so many times."""
        until(kind, lambda: self.seen(kind) >= times)

    @property
    def used(self) -> str:
        """What is spent of the cap of a day."""
        return self.client.spent()[0].used

    def held(self, symbol: str = "USDC") -> int:
        """Base units in the wallet."""
        return self._sandbox.balance(self.wallet.address, symbol)

    def on_paid(self, path: str, fault: dict[str, Any]) -> None:
        """Meets the next paid request with a fault, and no other."""

        def arm(_: Event) -> None:
            stop()
            self._sandbox.call("api.fault", path, {"times": 1, **fault})

        stop = self.client.on("payment.sent", arm)


def until(what: str, holds: Callable[[], Any], seconds: float = 20) -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def failure_of(call: Callable[[], Any], code: str) -> ExactChangeError:
    """The error of a call, which has this code."""
    with pytest.raises(ExactChangeError) as caught:
        call()
    assert caught.value.code == code, f"{caught.value.code}: {caught.value}"
    return caught.value
