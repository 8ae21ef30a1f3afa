"""The caller's handle of a journal that outlives its process."""

from __future__ import annotations

from .._base.closing import AsyncClosing, Closing
from .._kernel.hosts import loop_host, threads
from .types import SharedJournal


class DurableJournal(Closing, AsyncClosing):
    """Keeps the payments that were made, and the amounts that count against the limits.

    Any number of clients may use it, in any thread and event loop. A forked child may use it too,
    as a process of its own. It opens nothing before the first payment.
    """

    def __init__(self, shared: SharedJournal, name: str) -> None:
        self.shared = shared
        self._name = name

    def close(self) -> None:
        """Frees the journal's claims and locks, and closes it. Close its clients first."""
        threads.run(self.shared.close())

    async def aclose(self) -> None:
        """Closes the journal as :meth:`close` does, on an event loop."""
        await loop_host().run(self.shared.close())

    def __repr__(self) -> str:
        return self._name
