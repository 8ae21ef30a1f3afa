"""Bodies of answers, looked into before they are read."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import AsyncIterator, Callable, Iterator, Mapping

import httpx

# A packed piece of that size unpacks to some hundred KiB at most.
_SLICE = 512
_SHORT = 64 * 1024
_QUICK_SECONDS = 1.0


class Rest:
    """What is left of a body that nobody reads: read to its end while that is little and quick.

    Its connection can be used again then.
    """

    def __init__(self) -> None:
        self._size = 0
        self._end = time.monotonic() + _QUICK_SECONDS

    def is_worth(self, piece: bytes) -> bool:
        """Whether to read on after a piece."""
        self._size += len(piece)
        return self._size <= _SHORT and time.monotonic() < self._end


class Pieces:
    """The pieces of a body as they come, kept for its reader as long as they are looked at."""

    def __init__(self, source: Iterator[bytes], close: Callable[[], None]) -> None:
        self._source = source
        self._close = close
        self._kept: list[bytes] = []
        self._lock = threading.Lock()
        self._is_over = False
        self._error: Exception | None = None

    def at(self, place: int) -> bytes | None:
        """The piece at a place, waited for; None behind the last."""
        with self._lock:
            while place >= len(self._kept):
                if not self._fetch():
                    return None
            return self._kept[place]

    def drain(self) -> Iterator[bytes]:
        """All of it, from the beginning; what is given is no longer kept."""
        while True:
            with self._lock:
                if not self._kept and not self._fetch():
                    return
                piece = self._kept.pop(0)
            yield piece

    def close(self) -> None:
        """Ends it."""
        self._close()

    def _fetch(self) -> bool:
        if self._error is not None:
            raise self._error
        if self._is_over:
            return False
        try:
            self._kept.append(next(self._source))
            return True
        except StopIteration:
            self._is_over = True
            return False
        except Exception as error:
            self._error = error
            raise


class AsyncPieces:
    """The same on an event loop."""

    def __init__(self, source: AsyncIterator[bytes]) -> None:
        self._source = source
        self._kept: list[bytes] = []
        self._lock = asyncio.Lock()
        self._is_over = False
        self._error: Exception | None = None

    async def at(self, place: int) -> bytes | None:
        """The piece at a place, waited for; None behind the last."""
        async with self._lock:
            while place >= len(self._kept):
                if not await self._fetch():
                    return None
            return self._kept[place]

    async def drain(self) -> AsyncIterator[bytes]:
        """All of it, from the beginning; what is given is no longer kept."""
        while True:
            async with self._lock:
                if not self._kept and not await self._fetch():
                    return
                piece = self._kept.pop(0)
            yield piece

    async def _fetch(self) -> bool:
        if self._error is not None:
            raise self._error
        if self._is_over:
            return False
        try:
            self._kept.append(await self._source.__anext__())
            return True
        except StopAsyncIteration:
            self._is_over = True
            return False
        except Exception as error:
            self._error = error
            raise


def unpacked(pieces: Pieces, headers: Mapping[str, str]) -> Iterator[bytes]:
    """A body as its sender meant it, little by little."""

    def small() -> Iterator[bytes]:
        place = 0
        while True:
            piece = pieces.at(place)
            if piece is None:
                return
            place += 1
            yield from _slices(piece)

    return _response(headers, small()).iter_bytes()


async def unpacked_async(pieces: AsyncPieces, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    """The same on an event loop."""

    async def small() -> AsyncIterator[bytes]:
        place = 0
        while True:
            piece = await pieces.at(place)
            if piece is None:
                return
            place += 1
            for one in _slices(piece):
                yield one

    async for piece in _response(headers, small()).aiter_bytes():
        yield piece


def _slices(piece: bytes) -> Iterator[bytes]:
    return (piece[at : at + _SLICE] for at in range(0, len(piece), _SLICE))


def _response(
    headers: Mapping[str, str], content: Iterator[bytes] | AsyncIterator[bytes]
) -> httpx.Response:
    packing = headers.get("content-encoding")
    own = {} if packing is None else {"content-encoding": packing}
    return httpx.Response(200, headers=own, content=content)
