"""Request bodies, kept as they are sent, so that they can be sent again with a payment."""

from __future__ import annotations

from typing import Any, AsyncIterator, Iterator

import httpx

from ..errors import failure

# The largest request body that is kept to be sent again.
_BODY_LIMIT_BYTES = 1024 * 1024


class KeptBody:
    """A request's body, kept as it is sent."""

    def __init__(self) -> None:
        self._parts: list[bytes] | None = []
        self._size = 0
        self._is_whole = False
        # What was sent before of the same body.
        self._before = b""

    def begin(self) -> None:
        """Forgets the kept parts: the body is sent from its beginning."""
        if self._parts is not None:
            self._before = b"".join(self._parts) or self._before
            self._parts = []
        self._size, self._is_whole = 0, False

    def add(self, part: bytes) -> None:
        """Keeps the next part, unless the body is larger than the limit."""
        self._size += len(part)
        if self._size > _BODY_LIMIT_BYTES:
            self._parts = None
        elif self._parts is not None:
            self._parts.append(part)

    def end(self) -> None:
        """Notes that the body has no more parts.

        A body that can be read only once has lost its beginning when it is sent again.
        """
        if self._parts is not None and not b"".join(self._parts).startswith(self._before):
            self._parts = None
        self._is_whole = True

    @property
    def is_known(self) -> bool:
        """Whether the whole body is kept."""
        return self._parts is not None and self._is_whole

    def whole(self) -> bytes:
        """Returns the whole body, or raises ``body_not_replayable``."""
        if self._parts is not None and self._is_whole:
            return b"".join(self._parts)
        raise failure(
            "body_not_replayable",
            f"The request body is larger than {_BODY_LIMIT_BYTES} bytes, broke off or did not end, "
            "so it cannot be sent again with a payment. Send a smaller body.",
            {"limit_bytes": _BODY_LIMIT_BYTES},
        )


class _KeptStream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, kept: KeptBody) -> None:
        self._stream = stream
        self.kept = kept

    def __iter__(self) -> Iterator[bytes]:
        self.kept.begin()
        for part in self._stream:
            self.kept.add(part)
            yield part
        self.kept.end()

    def close(self) -> None:
        self._stream.close()


class _AsyncKeptStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, kept: KeptBody) -> None:
        self._stream = stream
        self.kept = kept

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.kept.begin()
        async for part in self._stream:
            self.kept.add(part)
            yield part
        self.kept.end()

    async def aclose(self) -> None:
        await self._stream.aclose()


def keep_body(request: httpx.Request) -> KeptBody:
    """Keeps a request's body. Keeps a body that can be read only once while it is sent."""
    stream = request.stream
    if isinstance(stream, (_KeptStream, _AsyncKeptStream)):
        return stream.kept
    kept = KeptBody()
    if isinstance(stream, httpx.ByteStream):
        kept.add(b"".join(stream))
        kept.end()
    elif isinstance(stream, httpx.AsyncByteStream) and not isinstance(stream, httpx.SyncByteStream):
        request.stream = _AsyncKeptStream(stream, kept)
    else:
        request.stream = _BothKept(stream, kept)
    return kept


class _BothKept(_KeptStream, httpx.AsyncByteStream):
    """A kept stream for both kinds of clients, because some streams of httpx serve both."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        stream: Any = self._stream
        self.kept.begin()
        async for part in stream:
            self.kept.add(part)
            yield part
        self.kept.end()

    async def aclose(self) -> None:
        stream: Any = self._stream
        if isinstance(stream, httpx.AsyncByteStream):
            await stream.aclose()
