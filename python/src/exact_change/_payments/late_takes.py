"""Undoes journal writes that land after their attempt was given up."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

from .._journal.released_claims import until_told
from .._kernel.hosts import threads
from .._kernel.steps import join, settled, start
from .._kernel.task import Steps, Task, begin

T = TypeVar("T")


class LateTakes:
    """Journal calls under way that reserve an attempt or take a hold for it.

    The caller may give up, or the deadline may pass, and the journal may still do the work. No
    other code would undo that work.
    """

    def __init__(self) -> None:
        # The calls under way, by attempt id.
        self._taking: dict[str, dict[Task[Any], None]] = {}
        # The ids of attempts that are being reserved.
        self._reserving: set[str] = set()

    def during(self, id_: str, work: Steps[T], *, is_reservation: bool = False) -> Steps[T]:
        """Runs a journal call that takes something for an attempt."""
        task = yield from start(work)
        if not task.is_settled:
            self._taking.setdefault(id_, {})[task] = None
            if is_reservation:
                self._reserving.add(id_)
            task.then(lambda: self._forget(id_, task))
        return (yield from join(task))

    def after(self, id_: str, end: Callable[[], Steps[Any]]) -> None:
        """Runs ``end`` after the calls under way for an attempt; does nothing if there are none.

        If it fails, it runs again until it is done, unless the attempt is older than these calls:
        by then, another call may have taken up an older attempt.
        """
        taking = [task for task in self._taking.get(id_, ()) if not task.host.is_gone]
        if not taking:
            return

        is_new = id_ in self._reserving

        def once_landed() -> Steps[None]:
            for task in taking:
                yield from settled(task)
            try:
                yield from end()
            except Exception:
                if is_new:
                    yield from until_told(end)

        begin(threads, once_landed())

    def ending(self, id_: str, end: Callable[[], Steps[T]]) -> Steps[T]:
        """Runs ``end`` now, and again after the calls under way for the attempt."""
        self.after(id_, end)
        return end()

    def _forget(self, id_: str, task: Task[Any]) -> None:
        taking = self._taking[id_]
        del taking[task]
        if not taking:
            del self._taking[id_]
            self._reserving.discard(id_)
