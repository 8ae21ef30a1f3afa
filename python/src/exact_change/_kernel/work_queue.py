"""A queue of work: each work starts once the work before it is over."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

from .signals import Signal
from .steps import join, settled, start
from .task import Steps, Task

T = TypeVar("T")


class WorkQueue:
    """Runs work in the order of the calls.

    Queued work goes on if its caller gives up, so the work checks the caller's signal itself.
    """

    def __init__(self) -> None:
        self._last: Task[Any] | None = None

    def turn(self, work: Callable[[], Steps[T]], signal: Signal | None = None) -> Steps[T]:
        """Returns the result of work, which begins once all earlier work is over."""
        task = self._last = yield from start(self._after(self._last, work))
        return (yield from join(task, signal))

    def _after(self, before: Task[Any] | None, work: Callable[[], Steps[T]]) -> Steps[T]:
        if before is not None and not before.is_settled and not before.host.is_gone:
            yield from settled(before)
        return (yield from work())
