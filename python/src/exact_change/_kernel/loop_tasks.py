"""Tasks of asyncio that end before their event loop closes."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import weakref
from typing import Any, AsyncGenerator, Callable, Generator

from .turns import is_in_turn


class LoopTasks:
    """The tasks of a host, on the running loop.

    A loop that closes never ends its pending tasks, and anyio keeps such a task for ever, with its
    loop and sockets. ``asyncio.run`` cancels the tasks of its loop once, but steps may go on after
    that and ask for another task. Later it closes the asynchronous generators of its loop, and a
    generator of the host cancels the late tasks then.
    """

    def __init__(self) -> None:
        self._has_ended = False
        # One entry for each call that waits. A finalizer may take it out, in any thread.
        self._calls: set[object] = set()
        # Weak references, like that of the loop: a task keeps its loop.
        self._tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self._generator = self._until_end()
        _register(self._generator)

    @property
    def is_over(self) -> bool:
        """Whether no task may begin any more: the loop closes soon, and no call waits."""
        return self._has_ended and not self._calls

    @contextlib.contextmanager
    def call(self) -> Generator[None, None, None]:
        """Lets tasks begin until the call ends: a ``finally`` of the caller may call very late."""
        call = object()
        self._calls.add(call)
        try:
            yield
        finally:
            self._calls.discard(call)

    def begin(self, loop: asyncio.AbstractEventLoop, make: Callable[[], Any]) -> asyncio.Task[Any]:
        """Begins a task that awaits the result of ``make``."""
        task = loop.create_task(awaited(make))
        self._tasks.add(task)
        return task

    async def end(self) -> None:
        """Cancels the tasks and waits for them, if no task may begin any more."""
        pending = [task for task in self._tasks if not task.done()] if self.is_over else []
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending)

    async def _until_end(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._has_ended = True
            # Garbage collection closes it too, also when Python exits, and then no loop runs.
            if running_loop() is not None:
                await self.end()


def _register(generator: AsyncGenerator[None, None]) -> None:
    """Makes the running loop close a generator at its end."""
    finalizer = sys.get_asyncgen_hooks().finalizer
    # The generator would hold its finalizer, and so keep the loop.
    sys.set_asyncgen_hooks(finalizer=None)
    try:
        with contextlib.suppress(StopIteration):
            generator.__anext__().send(None)
    finally:
        sys.set_asyncgen_hooks(finalizer=finalizer)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Returns the loop of asyncio that runs in this thread; None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def awaited(make: Callable[[], Any]) -> Any:
    # A loop with eager tasks begins them at once, but foreign code must not run in a turn.
    if is_in_turn():
        await asyncio.sleep(0)
    return await make()
