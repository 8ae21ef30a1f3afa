"""Calls that are under way in an object that must stay open until they end."""

from __future__ import annotations

from typing import Callable, TypeVar

from .hosts import this_host
from .steps import sleep
from .task import Host, Steps

T = TypeVar("T")


class Inside:
    """Keeps the host of each call: a call never ends if its event loop was closed."""

    def __init__(self) -> None:
        self._hosts: dict[object, Host] = {}

    def run(self, work: Callable[[], Steps[T]]) -> Steps[T]:
        """Runs work as a call under way."""
        call = object()
        self._hosts[call] = yield from this_host()
        try:
            return (yield from work())
        finally:
            self._hosts.pop(call, None)

    def over(self, look_ms: float) -> Steps[None]:
        """Waits until all calls have ended, except calls on a closed event loop."""
        while not all(host.is_gone for host in self._hosts.values()):
            yield from sleep(look_ms)
