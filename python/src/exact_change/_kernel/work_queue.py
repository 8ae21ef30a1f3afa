"""A queue of work: each work starts once the work before it is over."""

from __future__ import annotations

from typing import Any, Callable, Sequence, TypeVar

from .signals import Signal
from .steps import Forget, join, park, start
from .task import Host, Steps, Task, Wake

T = TypeVar("T")
# Milliseconds between checks whether the event loop of the work before was closed.
_LOOK_MS = 250


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
        def register(host: Host, wake: Wake) -> Sequence[Forget]:
            return () if before is None else [before.then(wake), host.later(_LOOK_MS, wake)]

        while before is not None and not before.is_settled and not before.host.is_gone:
            yield park(register)
        return (yield from work())
