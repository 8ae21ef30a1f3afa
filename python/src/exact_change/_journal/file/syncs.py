"""Makes sure that a file is on the disk itself. One sync serves all that wait for it."""

from __future__ import annotations

from typing import Callable

from ..._kernel.hosts import threads
from ..._kernel.steps import join, settled
from ..._kernel.task import Steps, Task, begin
from .disk import OpenFile
from .tail import Tail


class Syncs:
    """``rewrite``: writes the file anew, if that can be done."""

    def __init__(
        self, tail: Tail, sync_names: Callable[[], Steps[None]], rewrite: Callable[[], Steps[None]]
    ) -> None:
        self._tail = tail
        self._sync_names = sync_names
        self._rewrite = rewrite
        # The file whose name is on the disk.
        self._named: OpenFile | None = None
        # One whose sync failed: what was written before may be lost, whatever the next one says.
        self._broken: OpenFile | None = None
        self._running: Task[None] | None = None
        self._next: Task[None] | None = None
        self._syncing: Task[None] | None = None

    def sync(self) -> Steps[None]:
        """Returns once all that was written by now is there."""
        if self._next is None:
            # On no event loop: it may end before others that wait for the same.
            self._next = begin(threads, self._after(self._running))
        yield from join(self._next)

    def names(self) -> Steps[None]:
        """The same for the name of the file.

        Until then a power failure could bring back the last one.
        """
        file = self._tail.file
        yield from self._sync_names()
        self._named = file

    def over(self) -> Steps[None]:
        """Returns once no file is being synced that has been left."""
        if self._syncing is not None:
            yield from settled(self._syncing)

    def _after(self, before: Task[None] | None) -> Steps[None]:
        if before is not None:
            yield from settled(before)
        self._running, self._next = self._next, None
        yield from self._once()

    def _once(self) -> Steps[None]:
        if self._broken is self._tail.file:
            yield from self._rewrite()
        # Meanwhile another file may take its place: the one before is closed then.
        while self._named is not self._tail.file:
            yield from self.names()
        file, end = self._tail.file, self._tail.end
        if self._broken is file:
            raise OSError("An earlier write did not get to the disk")
        self._syncing = begin(threads, file.sync())
        try:
            yield from join(self._syncing)
        except Exception:
            self._broken = file
            raise
        self._tail.synced(file, end)
