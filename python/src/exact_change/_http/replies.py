"""Answers of sellers: as responses of httpx, and their part that serves requests too."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any, AsyncIterator, Callable, Iterator, Sequence

import httpx

from .._base.headers import Headers
from .._kernel.hosts import loop_host, threads
from .._kernel.signals import Signal
from .._kernel.steps import await_, bounded, call, join, start
from .._kernel.task import Steps
from .._payments.call import BodyEnd, Peeked
from .endings import AsyncWatchedStream, Ending, WatchedStream
from .pieces import QUICK_SECONDS, AsyncPieces, Pieces, Rest, looked_at, unpacked, unpacked_async

_PACKING = ("content-encoding", "content-length", "transfer-encoding")


class _Reply:
    """The common part of all replies."""

    native: Any

    def __init__(self, status: int, headers: Headers, url: str, method: str) -> None:
        self.status = status
        self.headers = headers
        self.url: str | None = url
        self._method = method
        # The part of the body that was looked at, unpacked.
        self._seen = bytearray()

    def has_body(self) -> bool:
        is_empty = self._method == "HEAD" or self.status in (204, 304)
        return not is_empty and self.headers.get("content-length") != "0"


class _Closing:
    """The close of a body. After it, the connection may serve another request."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_done = False


class BlockingReply(_Reply):
    """A reply with a body that blocks its reader."""

    def peek(self, is_enough: Callable[[bytes], bool], signal: Signal) -> Steps[Peeked]:
        pieces, seen = self._open(), self._seen
        del seen[:]

        def look() -> bool:
            for piece in unpacked(looked_at(pieces), self.native.headers):
                seen.extend(piece)
                if is_enough(bytes(seen)):
                    return False
            return True

        try:
            is_whole = yield from call(look, signal)
        except Exception:
            return Peeked(bytes(seen), False, not signal.aborted)
        return Peeked(bytes(seen), is_whole)

    def dispose(self, hurry: Signal) -> Steps[None]:
        closing = _Closing()
        disposal = yield from start(call(lambda: self._dispose(closing)))

        def cut(_: Signal) -> Steps[None]:
            yield from call(lambda: self._cut(closing))
            yield from join(disposal)

        try:
            yield from _quickly(lambda _: join(disposal), hurry)
        except Exception:
            # A cut may wait for the thread that reads, and that thread for the seller.
            yield from _quickly(cut)

    def _dispose(self, closing: _Closing) -> None:
        pieces, rest = self._open(), Rest()
        try:
            for piece in pieces.drain():
                if not rest.is_worth(piece):
                    break
        except Exception:
            pass
        finally:
            with closing.lock:
                closing.is_done = True
                pieces.close()

    def _cut(self, closing: _Closing) -> None:
        """Ends the reads of a silent body, so that its disposal goes on to the close.

        A close here would wake no thread that waits for the network.
        """
        with closing.lock:
            if closing.is_done:
                return
            connection = self._connection()
            # TLS of pyOpenSSL, and TLS within that of a proxy, are no sockets, but have one.
            connection = getattr(connection, "socket", connection)
            if isinstance(connection, socket.socket):
                with contextlib.suppress(OSError):
                    # Not the method of TLS, which changes what the reading thread works with.
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)
                return
        self._open().close()

    def _connection(self) -> object:
        """Returns the socket that brings the body, and no other body; else any other value."""
        raise NotImplementedError

    def _open(self) -> Pieces:
        """Returns the pieces of the body, and lets its reader read them too."""
        raise NotImplementedError


class _HttpxReply(_Reply):
    """A reply as a response of httpx."""

    native: httpx.Response

    def __init__(self, response: httpx.Response, url: str, method: str) -> None:
        self.native = response
        headers = Headers.of_bytes(response.headers.raw)
        super().__init__(response.status_code, headers, url, method)

    @property
    def evidence(self) -> httpx.Response:
        """A closed copy of the answer, with the part of its body that was looked at."""
        headers = _headers_without(_PACKING, self.native)
        return httpx.Response(self.status, headers=headers, content=bytes(self._seen))


def _headers_without(names: Sequence[str], response: httpx.Response) -> list[tuple[bytes, bytes]]:
    # Bytes, because httpx may not accept the text of a seller's header.
    pairs = response.headers.raw
    return [(name, value) for name, value in pairs if name.decode("latin-1").lower() not in names]


def unread(response: httpx.Response) -> httpx.Response:
    """Returns an answer whose body is still to be read, also if the transport below has read it.

    A second read of its stream would read from a connection that may serve the next request, and a
    client reads no stream of an answer that is read.
    """
    try:
        body = response.content
    except httpx.ResponseNotRead:
        return response
    # The body is unpacked by now.
    is_packed = "content-encoding" in response.headers
    headers = _headers_without(_PACKING if is_packed else (), response)
    # The connection is no longer that of this answer.
    extensions = {
        name: value for name, value in response.extensions.items() if name != "network_stream"
    }
    stream = httpx.ByteStream(body)
    return httpx.Response(
        response.status_code, headers=headers, stream=stream, extensions=extensions
    )


class ThreadReply(_HttpxReply, BlockingReply):
    """An answer of a transport that blocks."""

    _pieces: Pieces | None = None

    def on_body_end(self, end: BodyEnd) -> None:
        stream = self.native.stream
        if isinstance(stream, httpx.SyncByteStream):
            self.native.stream = WatchedStream(stream, Ending(end, threads))

    def _connection(self) -> object:
        extensions = self.native.extensions
        # A connection of HTTP/2 has other streams too.
        if "network_stream" not in extensions or "stream_id" in extensions:
            return None
        connection: object = extensions["network_stream"].get_extra_info("socket")
        return connection

    def _open(self) -> Pieces:
        if self._pieces is None:
            stream = self.native.stream
            if not isinstance(stream, httpx.SyncByteStream):
                raise TypeError("The transport answers with no stream.")
            self._pieces = Pieces(iter(stream), stream.close)
            self.native.stream = _Replayed(self._pieces)
        return self._pieces


class _Replayed(httpx.SyncByteStream):
    """A body that was looked at before. Its reader gets it from the beginning."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces.drain()

    def close(self) -> None:
        self._pieces.close()


class LoopReply(_HttpxReply):
    """An answer of a transport of asyncio."""

    _pieces: AsyncPieces | None = None

    def __init__(self, response: httpx.Response, url: str, method: str) -> None:
        super().__init__(response, url, method)
        self._disposed = Signal()

    def peek(self, is_enough: Callable[[bytes], bool], signal: Signal) -> Steps[Peeked]:
        seen = self._seen
        del seen[:]

        async def look() -> bool:
            async for piece in unpacked_async(self._open(), self.native.headers):
                seen.extend(piece)
                if is_enough(bytes(seen)):
                    return False
            return True

        # Only a disposal cancels the look, because that closes the connection: before it, a reader
        # may still come.
        looking = yield from start(await_(look, self._disposed))
        try:
            is_whole: bool = yield from join(looking, signal)
        except Exception:
            return Peeked(bytes(seen), False, not signal.aborted)
        return Peeked(bytes(seen), is_whole)

    def on_body_end(self, end: BodyEnd) -> None:
        stream = self.native.stream
        if isinstance(stream, httpx.AsyncByteStream):
            ending, request = Ending(end, loop_host()), (self._method, str(self.url))
            self.native.stream = AsyncWatchedStream(stream, ending, request)

    def dispose(self, hurry: Signal) -> Steps[None]:
        # A look at a silent body would hold the body's lock for ever.
        self._disposed.abort()
        if hurry.aborted:
            yield from await_(self._stream().aclose)
        else:
            yield from _quickly(lambda late: await_(self._dispose, late), hurry)

    async def _dispose(self) -> None:
        pieces, rest = self._open(), Rest()
        try:
            async for piece in pieces.drain():
                if not rest.is_worth(piece):
                    break
        except httpx.HTTPError:
            pass
        finally:
            await self._stream().aclose()

    def _open(self) -> AsyncPieces:
        if self._pieces is None:
            stream = self._stream()
            self._pieces = AsyncPieces(stream.__aiter__())
            self.native.stream = _AsyncReplayed(self._pieces, stream)
        return self._pieces

    def _stream(self) -> httpx.AsyncByteStream:
        stream = self.native.stream
        if not isinstance(stream, httpx.AsyncByteStream):
            raise TypeError("The transport answers with no stream.")
        return stream


class _AsyncReplayed(httpx.AsyncByteStream):
    """A body that was looked at before. Its reader gets it from the beginning."""

    def __init__(self, pieces: AsyncPieces, stream: httpx.AsyncByteStream) -> None:
        self._pieces = pieces
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces.drain()

    async def aclose(self) -> None:
        await self._stream.aclose()


def _quickly(dispose: Callable[[Signal], Steps[None]], hurry: Signal | None = None) -> Steps[None]:
    """Runs a disposal as long as the rest of its body is worth a wait, else raises."""
    return bounded(QUICK_SECONDS * 1000, TimeoutError, [hurry], dispose)
