"""A client that records its events for a test."""

from __future__ import annotations

import time
from typing import Any, Callable

import pytest
import requests

from exact_change import Client, Event, ExactChangeError
from exact_change._kernel.deadline import start_deadline
from exact_change._payments import resign

from .node import Sandbox, Wallet

PRICE = 10_000


class Payer:
    """A client of a wallet, with its events so far."""

    def __init__(self, sandbox: Sandbox, wallet: Wallet, **options: Any) -> None:
        self._sandbox = sandbox
        self.wallet = wallet
        self.client = Client(**sandbox.options(wallet, **options))
        self.events: list[Event] = []
        self.client.on("*", self.events.append)

    def seen(self, kind: str) -> int:
        """Returns how many events of a type were emitted."""
        return sum(event.type == kind for event in self.events)

    @property
    def signed(self) -> list[str]:
        """The kinds of signed transactions, in order: ``swap``, ``payment``."""
        return [event.type.split(".")[0] for event in self.events if event.type.endswith(".signed")]

    def told(self, kind: str, times: int = 1) -> None:
        """Waits until an event was emitted this many times."""
        until(kind, lambda: self.seen(kind) >= times)

    @property
    def used(self) -> str:
        """The used amount of the first cap."""
        return self.client.spent()[0].used

    def held(self, symbol: str = "USDC") -> int:
        """Returns the base units of a token in the wallet."""
        return self._sandbox.balance(self.wallet.address, symbol)

    def on_paid(self, path: str, fault: dict[str, Any]) -> None:
        """Answers the next paid request with a fault, and only that request."""

        def arm(_: Event) -> None:
            stop()
            self._sandbox.call("api.fault", path, {"times": 1, **fault})

        stop = self.client.on("payment.sent", arm)


def until(what: str, holds: Callable[[], Any], seconds: float = 60) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def until_bought(client: Client, url: str) -> None:
    """Repeats a call until its retry window is over, so that it buys."""

    def is_bought() -> bool:
        try:
            return client.get(url).status_code == 200
        except ExactChangeError:
            return False

    until("the window is over", is_bought)


def failure_of(call: Callable[[], Any], code: str) -> ExactChangeError:
    """Returns the error of a call, after a check that it has this code."""
    with pytest.raises(ExactChangeError) as caught:
        call()
    assert caught.value.code == code, f"{caught.value.code}: {caught.value}"
    return caught.value


def hurry(patch: pytest.MonkeyPatch) -> None:
    """Lets calls wait only a second for the end of a payment that was refused unasked.

    A short ``timeouts.payment`` would also end calls that a busy machine answers late.
    """
    patch.setattr(resign, "start_deadline", lambda _, caller: start_deadline(1_000, caller))


def buying(kind: str, client: Any, url: str) -> Callable[[], object]:
    """Returns a function that buys with httpx or with requests."""
    if kind == "httpx":
        return lambda: client.post(url, content=b"x")
    session = requests.Session()
    session.mount("http://", client.adapter())
    return lambda: session.post(url, b"x", timeout=60)
