"""Work of asyncio that is given up by a scope of anyio."""

from __future__ import annotations

import asyncio
from typing import Any, Callable

GiveUp = Callable[["asyncio.Task[Any]"], object]


def cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()


class Scoped:
    """Awaits the result of ``make`` as a task that can be given up.

    Transports of httpx shield their own cleaning up from a cancelled scope, but not from a
    cancelled task: the connections that they are closing would stay open.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._scope: Any = None

    async def run(self) -> Any:
        # Late, because it takes 13 ms, and a client of threads does not need it.
        import anyio

        with anyio.CancelScope() as self._scope:
            return await self._make()
        raise asyncio.CancelledError

    def give_up(self, task: asyncio.Task[Any]) -> None:
        """Cancels the task, which may not have begun, or may have ended."""
        if self._scope is None:
            cancel(task)
        elif not task.done():
            self._scope.cancel()
