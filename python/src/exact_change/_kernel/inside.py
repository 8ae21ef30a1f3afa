"""Calls that are under way in something that is to be closed after them."""

from __future__ import annotations

from typing import Callable, TypeVar

from .hosts import this_host
from .steps import sleep
from .task import Host, Steps

T = TypeVar("T")


class Inside:
    """Knows where each of its calls runs: one whose event loop was closed never ends."""

    def __init__(self) -> None:
        self._hosts: dict[object, Host] = {}

    def run(self, work: Callable[[], Steps[T]]) -> Steps[T]:
        """Runs work as one of them."""
        call = object()
        self._hosts[call] = yield from this_host()
        try:
            return (yield from work())
        finally:
            self._hosts.pop(call, None)

    def over(self, look_ms: float) -> Steps[None]:
        """Returns once all are out whose event loop is not closed."""
        while not all(host.is_gone for host in self._hosts.values()):
            yield from sleep(look_ms)
