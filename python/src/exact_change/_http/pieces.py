"""Bodies of answers, looked into before they are read."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import AsyncIterator, Callable, Iterator, Mapping

import httpx

# A packed piece of that size unpacks to some hundred KiB at most, and with others to some MiB.
SLICE = 512
_PACKINGS = {
    "gzip": ("gzip", SLICE),
    "x-gzip": ("gzip", SLICE),
    "deflate": ("deflate", SLICE),
    "br": ("br", 8),
    "zstd": ("zstd", 32),
}
# As fetch has it.
_MOST_PACKINGS = 5
# Bytes that are unpacked at most, all packings together: they need not make a single one.
_MOST_WORK = 1 << 20
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


def looked_at(pieces: Pieces) -> Iterator[bytes]:
    """All pieces from the first; they stay for their reader."""
    place = 0
    while True:
        piece = pieces.at(place)
        if piece is None:
            return
        place += 1
        yield piece


def unpacked(body: Iterator[bytes], headers: Mapping[str, str]) -> Iterator[bytes]:
    """The beginning of a body as its sender meant it, little by little.

    Raises an error of httpx if it is packed too often, or too much of it would make too little.
    """
    work = _Work()
    for packing, size in _packings(headers):
        body = _response(packing, _sliced(body, size, work)).iter_bytes()
    return body


async def unpacked_async(pieces: AsyncPieces, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    """The same on an event loop."""

    async def all_of_them() -> AsyncIterator[bytes]:
        place = 0
        while True:
            piece = await pieces.at(place)
            if piece is None:
                return
            place += 1
            yield piece

    async def sliced(body: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
        async for piece in body:
            for part in work.slices(piece, size):
                yield part

    work = _Work()
    body: AsyncIterator[bytes] = all_of_them()
    for packing, size in _packings(headers):
        body = _response(packing, sliced(body, size)).aiter_bytes()
    async for piece in body:
        yield piece


class _Work:
    """What is unpacked of a body that is looked at."""

    def __init__(self) -> None:
        self._left = _MOST_WORK

    def slices(self, piece: bytes, size: int) -> Iterator[bytes]:
        """A piece in slices of a size."""
        for at in range(0, len(piece), size):
            part = piece[at : at + size]
            self._left -= len(part)
            if self._left < 0:
                raise httpx.DecodingError("Too much of it is packed.")
            yield part


def _packings(headers: Mapping[str, str]) -> list[tuple[str, int]]:
    """How it was packed, the last first, and in which slices to unpack that.

    One by one: of all at once, each would unpack what the one before it made of a slice.
    """
    names = [one.strip().lower() for one in headers.get("content-encoding", "").split(",")]
    if len(names) > _MOST_PACKINGS:
        raise httpx.DecodingError("It is packed too often.")
    return [_PACKINGS[name] for name in reversed(names) if name in _PACKINGS]


def _sliced(body: Iterator[bytes], size: int, work: _Work) -> Iterator[bytes]:
    for piece in body:
        yield from work.slices(piece, size)


def _response(packing: str, content: Iterator[bytes] | AsyncIterator[bytes]) -> httpx.Response:
    return httpx.Response(200, headers={"content-encoding": packing}, content=content)
