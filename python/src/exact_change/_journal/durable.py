"""What a caller has of a journal that outlives its process."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from .._kernel.hosts import loop_host, threads
from .types import SharedJournal

if TYPE_CHECKING:
    from typing_extensions import Self


class DurableJournal:
    """Keeps what was paid, and what counts against the limits.

    Any number of clients may use it, of any thread and event loop. A forked child goes on with it
    as a process of its own. Nothing is opened before the first payment.
    """

    def __init__(self, shared: SharedJournal, name: str) -> None:
        self.shared = shared
        self._name = name

    def close(self) -> None:
        """Frees its claims and locks, and closes it; to be called after its clients are closed."""
        threads.run(self.shared.close())

    async def aclose(self) -> None:
        """The same on an event loop."""
        await loop_host().run(self.shared.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return self._name
