"""Work that several callers wait for."""

from __future__ import annotations

from typing import Callable, Generic, TypeVar

from .signals import Signal
from .steps import join, start
from .task import Steps, Task

T = TypeVar("T")


class SharedWork(Generic[T]):
    """Work that several callers wait for, each for as long as it likes.

    If the last caller leaves before the work is done, the signal of the work fires, and
    ``abandoned`` is called.
    """

    def __init__(self, work: Callable[[Signal], Steps[T]], abandoned: Callable[[], None]) -> None:
        self._work = work
        self._abandoned = abandoned
        self._signal = Signal()
        self._task: Task[T] | None = None
        self._waiting = 0

    def join(self, signal: Signal | None) -> Steps[T]:
        """Returns the outcome of the work, or raises the reason of the caller's signal."""
        if self._task is None:
            self._task = yield from start(self._work(self._signal))
        self._waiting += 1
        try:
            return (yield from join(self._task, signal))
        finally:
            self._waiting -= 1
            if self._waiting == 0 and not self._task.is_settled:
                self._abandoned()
                self._signal.abort(signal.reason if signal is not None else None)
