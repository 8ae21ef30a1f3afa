"""Brings the bytes and the name of a file to the disk itself."""

from __future__ import annotations

from typing import Callable

from ..._kernel.hosts import threads
from ..._kernel.steps import join, settled
from ..._kernel.task import Steps, Task, begin
from .disk import OpenFile
from .tail import Tail


class Syncs:
    """Brings the bytes and the name of a file to the disk. ``rewrite`` rewrites it, if possible."""

    def __init__(
        self, tail: Tail, sync_names: Callable[[], Steps[None]], rewrite: Callable[[], Steps[None]]
    ) -> None:
        self._tail = tail
        self._sync_names = sync_names
        self._rewrite = rewrite
        # The file with a name that is on the disk.
        self._named: OpenFile | None = None
        # The file of a failed sync: its earlier writes may be lost, even if a later sync succeeds.
        self._broken: OpenFile | None = None
        self._running: Task[None] | None = None
        self._next: Task[None] | None = None
        self._syncing: Task[None] | None = None

    def sync(self) -> Steps[None]:
        """Returns once all bytes written so far are on the disk. One sync serves all callers."""
        if self._next is None:
            # Run it in threads: an event loop may end before other callers that wait.
            self._next = begin(threads, self._after(self._running))
        yield from join(self._next)

    def names(self) -> Steps[None]:
        """Syncs the file's name: before, a power failure could bring back the previous file."""
        file = self._tail.file
        yield from self._sync_names()
        self._named = file

    def over(self) -> Steps[None]:
        """Returns once the running sync has ended, so that its file can be closed."""
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
        # A rewrite may replace the file meanwhile, so sync names until the current file has its
        # name.
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
