"""Signals that tell steps that their caller has given up, or that time is up."""

from __future__ import annotations

from typing import Callable


class Aborted(Exception):
    """The caller has given up. It never leaves the library: the caller gets its own exception."""


class Signal:
    """Fires once, with a reason. Use it only in turns."""

    __slots__ = ("_next", "_waiting", "blocks", "is_low_priority", "reason")

    def __init__(self, *, is_low_priority: bool = False) -> None:
        self.reason: Exception | None = None
        # Whether work under this signal gives way to other work: see `follow`.
        self.is_low_priority = is_low_priority
        # The host of the event loop that the caller blocks: nothing runs there until the call ends.
        self.blocks: object = None
        self._waiting: dict[int, Callable[[], None]] = {}
        self._next = 0

    @property
    def aborted(self) -> bool:
        return self.reason is not None

    def abort(self, reason: Exception | None = None) -> None:
        """Fires the signal, unless it has fired before."""
        if self.reason is not None:
            return
        self.reason = Aborted() if reason is None else reason
        waiting, self._waiting = self._waiting, {}
        for then in waiting.values():
            then()

    def on_abort(self, then: Callable[[], None]) -> Callable[[], None]:
        """Calls ``then`` once when the signal fires; returns a function that cancels this.

        If the signal has fired already, nothing is called.
        """
        self._next += 1
        key = self._next
        self._waiting[key] = then
        return lambda: void(self._waiting.pop(key, None))

    def check(self) -> None:
        """Raises the reason if the signal has fired."""
        if self.reason is not None:
            raise self.reason


def void(_value: object) -> None:
    """Drops a value, so that a callback returns None."""


def check(signal: Signal | None) -> None:
    """Raises a signal's reason if it has fired."""
    if signal is not None:
        signal.check()


def follow(parent: Signal | None, *, is_low_priority: bool = False) -> Following:
    """Returns a signal that fires with its parent."""
    child = Signal(is_low_priority=is_low_priority)
    if parent is None:
        return Following(child, lambda: None)
    if parent.reason is not None:
        child.abort(parent.reason)
        return Following(child, lambda: None)
    return Following(child, parent.on_abort(lambda: child.abort(parent.reason)))


class Following:
    """A signal that follows a parent; ``end`` stops the following."""

    __slots__ = ("end", "signal")

    def __init__(self, signal: Signal, end: Callable[[], None]) -> None:
        self.signal = signal
        self.end = end


def is_low_priority(signal: Signal | None) -> bool:
    """Whether work under this signal gives way to other work."""
    return signal is not None and signal.is_low_priority


def follow_also(signal: Signal, other: Signal) -> Callable[[], None]:
    """Makes a signal fire with another signal too; returns a function that stops this."""
    if other.reason is not None:
        signal.abort(other.reason)
        return lambda: None
    return other.on_abort(lambda: signal.abort(other.reason))
