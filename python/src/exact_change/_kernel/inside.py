"""Calls that are under way in an object that must stay open until they end."""

from __future__ import annotations

import time
from typing import Callable, TypeVar

from .hosts import this_host
from .steps import sleep
from .task import Host, Steps

T = TypeVar("T")


class Inside:
    """Keeps the host of each call: a call never ends if its event loop was closed.

    ``longest_ms`` is how long :meth:`over` waits at most: an event loop that is stopped, or that
    the closing thread blocks, ends no call either. By default as long as ``timeouts.journal``.
    """

    def __init__(self, longest_ms: float = 10_000) -> None:
        self._hosts: dict[object, Host] = {}
        self._longest_ms = longest_ms

    def run(self, work: Callable[[], Steps[T]]) -> Steps[T]:
        """Runs work as a call under way."""
        call = object()
        self._hosts[call] = yield from this_host()
        try:
            return (yield from work())
        finally:
            self._hosts.pop(call, None)

    def over(self, look_ms: float) -> Steps[None]:
        """Waits until all calls have ended, except calls on a closed or stalled event loop."""
        end = time.monotonic() + self._longest_ms / 1000
        while time.monotonic() < end and not all(host.is_gone for host in self._hosts.values()):
            yield from sleep(look_ms)
