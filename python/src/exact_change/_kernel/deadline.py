"""A deadline for steps, as a signal."""

from __future__ import annotations

from .signals import Signal
from .steps import Forget, timer
from .task import Steps


class Deadline:
    """A signal that follows the caller's signal, and fires by itself when time is up."""

    def __init__(self, signal: Signal) -> None:
        self.signal = signal
        self.has_passed = False
        self.ends: list[Forget] = []

    def end(self) -> None:
        """Stops the clock, and follows the caller's signal no longer."""
        for end in self.ends:
            end()
        self.ends.clear()


def start_deadline(ms: float, caller: Signal | None) -> Steps[Deadline]:
    """Starts a deadline of ``ms`` milliseconds."""
    deadline = Deadline(Signal())
    if caller is not None and caller.reason is not None:
        deadline.signal.abort(caller.reason)
        return deadline

    def pass_deadline() -> None:
        deadline.has_passed = True
        deadline.signal.abort(TimeoutError("The deadline passed."))

    deadline.ends.append((yield from timer(ms, pass_deadline)))
    if caller is not None:
        deadline.ends.append(caller.on_abort(lambda: deadline.signal.abort(caller.reason)))
    return deadline
