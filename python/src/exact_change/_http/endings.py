"""Reports, once, how the body of an answer ended."""

from __future__ import annotations

import asyncio
import contextlib
import re
import weakref
from typing import AsyncIterator, Callable, Generator, Iterator

import httpx

from .._kernel.hosts import loop_host, threads
from .._kernel.signals import Signal
from .._kernel.steps import settled
from .._kernel.task import Host, Steps, Task, begin
from .._kernel.workers import workers
from .._payments.call import BodyEnd

# The end of a stream of events in the API of OpenAI: some clients read no further.
_LAST_EVENT = re.compile(rb"\ndata: ?\[DONE\]\s+\Z")
_LAST_EVENT_BYTES = 20


class Ending:
    """Reports the first end of a body, and ignores later ends."""

    def __init__(self, end: BodyEnd, host: Host, *, may_stay_unread: bool = False) -> None:
        self._end = end
        self._host = host
        # Whether a caller may drop the answer unread and without closing it.
        self._may_stay_unread = may_stay_unread
        self._is_begun = False
        self._is_told = False
        # The last bytes that the reader got.
        self._tail = b"\n"
        self._unwatch: Callable[[], object] | None = None
        # The report that a finalizer began.
        self._telling: Task[None] | None = None

    def begin(self) -> None:
        """Notes that a read of the body began."""
        self._is_begun = True

    def note(self, piece: bytes) -> bytes:
        """Notes a piece that the reader gets, and returns it."""
        self._tail = (self._tail + piece[-_LAST_EVENT_BYTES:])[-_LAST_EVENT_BYTES:]
        return piece

    def read(self) -> None:
        """Reports that the body was read to its end."""
        reader = Signal()
        threads.run(self._tell(lambda: self._end.read(reader)), reader)

    def lost(self) -> None:
        """Reports that the body failed before its end."""
        threads.run(self._lose(self._end.lost))

    def left(self) -> None:
        """Reports that the reader left."""
        threads.run(self._lose(self._leave))

    @contextlib.contextmanager
    def lost_if_raised(self) -> Generator[None, None, None]:
        """Reports a loss if the block of a read raises.

        Also after an interrupt: a caller that repeats its request while the error's frames still
        hold this answer would pay again, beside a call that seems to run.
        """
        try:
            yield
        except GeneratorExit:
            # Garbage collection may close a generator in any code, so it must not wait here.
            raise
        except BaseException:
            if not self._is_told:
                self.lost()
            raise

    async def aread(self) -> None:
        """Does the work of :meth:`read` on an event loop."""
        reader = Signal()
        await loop_host().run(self._tell(lambda: self._end.read(reader)), reader)

    async def alost(self) -> None:
        """Does the work of :meth:`lost` on an event loop."""
        await loop_host().run(self._lose(self._end.lost))

    async def aleft(self) -> None:
        """Does the work of :meth:`left` on an event loop."""
        await loop_host().run(self._lose(self._leave))

    def _leave(self) -> Steps[None]:
        """Reports a stream that was left after its last event as read to its end."""
        is_whole = _LAST_EVENT.search(self._tail) is not None
        return self._end.read(None) if is_whole else self._end.lost()

    def _lose(self, end: Callable[[], Steps[None]]) -> Steps[None]:
        yield from self._tell(end)
        # Once a response is closed, other processes may repeat its request.
        if self._telling is not None and not self._host.is_gone:
            yield from settled(self._telling)

    def _tell(self, end: Callable[[], Steps[None]]) -> Steps[None]:
        # Note it only here: an interrupt may come before these steps have begun.
        if self._is_told:
            return
        self._is_told = True
        # Once the end is told, the finalizer must not wake a thread.
        if self._unwatch is not None:
            self._unwatch()
        yield from end()

    @property
    def is_told(self) -> bool:
        """Whether an end was reported, and no finalizer is still about it."""
        return self._is_told and (self._telling is None or self._telling.is_settled)

    def watch(self, reader: object) -> None:
        """Reports an end if the reader is collected: lost, or read if it may stay unread.

        ``reader``: this object must hold no reference to it.
        """
        workers.watch_graves()
        # A finalizer may run in any code, so it may take no lock.
        grave = weakref.finalize(reader, self.bury)
        grave.atexit = False
        self._unwatch = grave.detach

    def bury(self) -> None:
        """Reports the end of a reader that is collected. It takes no lock."""
        workers.bury(self._forgotten)

    def _forgotten(self) -> None:
        if not self._is_told and not self._host.is_gone:
            is_taken = self._may_stay_unread and not self._is_begun
            end = (lambda: self._end.read(None)) if is_taken else self._leave
            self._telling = begin(self._host, self._tell(end))


class WatchedStream(httpx.SyncByteStream):
    """A stream of httpx that reports its end. Its reader waits for the report.

    The report is the last thing that its reader waits for, so it frees the connection before. Else
    the reader could give up behind the report.
    """

    def __init__(self, stream: httpx.SyncByteStream, ending: Ending) -> None:
        self._stream = stream
        self._ending = ending
        self._is_freed = False
        ending.watch(self)

    def __iter__(self) -> Iterator[bytes]:
        with self._ending.lost_if_raised():
            self._ending.begin()
            try:
                yield from map(self._ending.note, self._stream)
            except GeneratorExit:
                # Its reader left, and httpx lets no reader come back.
                self._ending.bury()
                raise
            self._free()
            self._ending.read()

    def _free(self) -> None:
        if not self._is_freed:
            self._stream.close()
            # Set only now, because an interrupted close has to be done again.
            self._is_freed = True

    def close(self) -> None:
        try:
            self._free()
        finally:
            if not self._ending.is_told:
                self._ending.left()


# Streams with a reader that has a piece and does not ask for the next, by their object ids.
_paused: weakref.WeakValueDictionary[int, AsyncWatchedStream] = weakref.WeakValueDictionary()


# Turns of an event loop. It needs two for each reader from the `break` down to the stream: httpx
# alone has up to seven. More would delay calls while other tasks read answers to equal requests.
_TURNS = 32


async def is_left_open(method: str, url: str) -> bool:
    """Returns whether a reader of an answer to an equal request may have left it.

    An event loop closes the reader of a stream only some turns after the `break`, so this waits for
    them: a transport that answers at once takes no turn.
    """
    for _ in range(_TURNS):
        if not _is_paused(method, url):
            return False
        await asyncio.sleep(0)
    return True


def _is_paused(method: str, url: str) -> bool:
    streams = (reference() for reference in _paused.valuerefs())
    return any(stream is not None and stream.request == (method, url) for stream in streams)


class AsyncWatchedStream(httpx.AsyncByteStream):
    """A :class:`WatchedStream` on an event loop. ``request`` has the method and URL."""

    def __init__(
        self, stream: httpx.AsyncByteStream, ending: Ending, request: tuple[str, str]
    ) -> None:
        self.request = request
        self._stream = stream
        self._ending = ending
        self._is_freed = False
        ending.watch(self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._ending.begin()
        try:
            async for piece in self._stream:
                _paused[id(self)] = self
                try:
                    yield self._ending.note(piece)
                finally:
                    _paused.pop(id(self), None)
            await self._free()
            await self._ending.aread()
        except GeneratorExit:
            self._ending.bury()
            raise
        except BaseException:
            # Also after a cancellation: see `Ending.lost_if_raised`.
            if not self._ending.is_told:
                await self._ending.alost()
            raise

    async def _free(self) -> None:
        if not self._is_freed:
            await self._stream.aclose()
            self._is_freed = True

    async def aclose(self) -> None:
        try:
            await self._free()
        finally:
            if not self._ending.is_told:
                await self._ending.aleft()
