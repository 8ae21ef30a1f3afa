"""What lands in a journal after its attempt was given up."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

from .._kernel.hosts import threads
from .._kernel.steps import join, quiet, settled, start
from .._kernel.task import Steps, Task, begin

T = TypeVar("T")


class LateTakes:
    """What attempts are being put on record for, and given to hold.

    A caller may give up meanwhile, and a call that is over time may do its work all the same. What
    lands then, nothing else would ever end.
    """

    def __init__(self) -> None:
        self._taking: dict[str, dict[Task[Any], None]] = {}

    def during(self, id_: str, work: Steps[T]) -> Steps[T]:
        """Something is being taken for an attempt."""
        task = yield from start(work)
        if not task.is_settled:
            self._taking.setdefault(id_, {})[task] = None
            task.then(lambda: self._forget(id_, task))
        return (yield from join(task))

    def after(self, id_: str, end: Callable[[], Steps[Any]]) -> None:
        """Ends, if anything is being taken for an attempt, what has landed by then."""
        taking = [one for one in self._taking.get(id_, ()) if not one.host.is_gone]
        if not taking:
            return

        def once_landed() -> Steps[None]:
            for one in taking:
                yield from settled(one)
            yield from quiet(end())

        begin(threads, once_landed())

    def ending(self, id_: str, end: Callable[[], Steps[T]]) -> Steps[T]:
        """Ends what was taken for an attempt: once now, and after what is being taken."""
        self.after(id_, end)
        return end()

    def _forget(self, id_: str, task: Task[Any]) -> None:
        taking = self._taking[id_]
        del taking[task]
        if not taking:
            del self._taking[id_]
