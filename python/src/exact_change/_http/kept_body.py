"""Request bodies, kept as they are sent, so that they can be sent again with a payment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from ..errors import failure

# The largest request body that is kept to be sent again.
_BODY_LIMIT_BYTES = 1024 * 1024


class _Run:
    """One send of a body: two threads may send a body at once."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.is_whole = False


class KeptBody:
    """A request's body, kept as it is sent."""

    def __init__(self, *, is_read_once: bool = False) -> None:
        self._is_read_once = is_read_once
        self._is_lost = False
        self._run = _Run()
        # The most that earlier runs sent of the same body.
        self._before = b""

    @classmethod
    def of(cls, content: bytes) -> KeptBody:
        """Keeps a body that is known before it is sent."""
        kept = cls()
        kept.add(kept._run, content)
        kept.end(kept._run)
        return kept

    def begin(self) -> _Run:
        """Begins a run: the body is sent from its beginning.

        A body that can be read only once has lost its beginning when it is sent again. Equal parts
        would hide the loss.
        """
        sent = b"".join(self._run.parts)
        shorter, longer = sorted((sent, self._before), key=len)
        if (sent and self._is_read_once) or not longer.startswith(shorter):
            self._is_lost = True
        self._before = longer
        self._run = _Run()
        return self._run

    def add(self, run: _Run, part: bytes) -> None:
        """Keeps the next part, unless the body exceeds the limit or is sent twice at once."""
        run.size += len(part)
        if run is not self._run or run.size > _BODY_LIMIT_BYTES:
            self._is_lost = True
        if self._is_lost:
            run.parts.clear()
        else:
            run.parts.append(part)

    def end(self, run: _Run) -> None:
        """Notes that the body has no more parts."""
        if run is not self._run or not b"".join(run.parts).startswith(self._before):
            self._is_lost = True
        run.is_whole = True

    @property
    def is_known(self) -> bool:
        """Whether the whole body is kept."""
        return self._run.is_whole and not self._is_lost

    def whole(self) -> bytes:
        """Returns the whole body, or raises ``body_not_replayable``."""
        if self.is_known:
            return b"".join(self._run.parts)
        raise failure(
            "body_not_replayable",
            f"The request body is larger than {_BODY_LIMIT_BYTES} bytes, broke off or did not end, "
            "so it cannot be sent again with a payment. Send a smaller body.",
            {"limit_bytes": _BODY_LIMIT_BYTES},
        )


class _KeptStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A kept stream for both kinds of clients, because some streams of httpx serve both."""

    def __init__(self, stream: Any, kept: KeptBody) -> None:
        self._stream = stream
        self.kept = kept

    def __iter__(self) -> Iterator[bytes]:
        run = self.kept.begin()
        for part in self._stream:
            self.kept.add(run, part)
            yield part
        self.kept.end(run)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        run = self.kept.begin()
        async for part in self._stream:
            self.kept.add(run, part)
            yield part
        self.kept.end(run)

    def close(self) -> None:
        if isinstance(self._stream, httpx.SyncByteStream):
            self._stream.close()

    async def aclose(self) -> None:
        if isinstance(self._stream, httpx.AsyncByteStream):
            await self._stream.aclose()


def keep_body(request: httpx.Request) -> KeptBody:
    """Keeps a request's body. Keeps a body that can be read only once while it is sent."""
    stream = request.stream
    if isinstance(stream, _KeptStream):
        return stream.kept
    if isinstance(stream, httpx.ByteStream):
        return KeptBody.of(b"".join(stream))
    # httpx hides what the caller gave, and does not rewind a file.
    parts = getattr(stream, "_stream", stream)
    is_read_once = isinstance(parts, (AsyncIterator, Iterator)) or hasattr(parts, "read")
    kept = KeptBody(is_read_once=is_read_once)
    request.stream = _KeptStream(stream, kept)
    return kept
