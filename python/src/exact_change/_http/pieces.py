"""Bodies of answers that the library looks at before their reader does."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import AsyncIterator, Callable, Iterator, Mapping

import httpx

# Bytes of packed input that are unpacked at once. A slice unpacks to some hundred KiB at most; with
# several packings, all of them hold some MiB.
SLICE = 512
# Names of packings, each with the packing for httpx and its slice size.
_PACKINGS = {
    "gzip": ("gzip", SLICE),
    "x-gzip": ("gzip", SLICE),
    "deflate": ("deflate", SLICE),
    "br": ("br", 8),
    "zstd": ("zstd", 32),
}
# The limit that fetch has.
_MOST_PACKINGS = 5
# The most packed bytes to unpack, over all packings: they may unpack to nothing.
_MOST_WORK = 1 << 20
_SHORT = 64 * 1024
QUICK_SECONDS = 1.0


class Rest:
    """Decides whether to read the rest of an unread body: only while the rest is short and quick.

    A connection can be used again after its body was read to the end.
    """

    def __init__(self) -> None:
        self._size = 0
        self._end = time.monotonic() + QUICK_SECONDS

    def is_worth(self, piece: bytes) -> bool:
        """Whether to read on after a piece."""
        self._size += len(piece)
        return self._size <= _SHORT and time.monotonic() < self._end


class Pieces:
    """The pieces of a body. Pieces that were looked at are kept for the body's reader."""

    def __init__(self, source: Iterator[bytes], close: Callable[[], None]) -> None:
        self._source = source
        self._close = close
        self._kept: list[bytes] = []
        self._lock = threading.Lock()
        self._is_over = False
        self._error: Exception | None = None

    def at(self, place: int) -> bytes | None:
        """Waits for the piece at a place and returns it; None behind the last piece."""
        with self._lock:
            while place >= len(self._kept):
                if not self._fetch():
                    return None
            return self._kept[place]

    def drain(self) -> Iterator[bytes]:
        """Yields all pieces from the first, and keeps none of them."""
        while True:
            with self._lock:
                if not self._kept and not self._fetch():
                    return
                piece = self._kept.pop(0)
            yield piece

    def close(self) -> None:
        """Closes the source of the pieces."""
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
    """The :class:`Pieces` of a body on an event loop."""

    def __init__(self, source: AsyncIterator[bytes]) -> None:
        self._source = source
        self._kept: list[bytes] = []
        self._lock = asyncio.Lock()
        self._is_over = False
        self._error: Exception | None = None

    async def at(self, place: int) -> bytes | None:
        """Waits for the piece at a place and returns it; None behind the last piece."""
        async with self._lock:
            while place >= len(self._kept):
                if not await self._fetch():
                    return None
            return self._kept[place]

    async def drain(self) -> AsyncIterator[bytes]:
        """Yields all pieces from the first, and keeps none of them."""
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
    """Yields all pieces from the first, and keeps them for the reader."""
    place = 0
    while True:
        piece = pieces.at(place)
        if piece is None:
            return
        place += 1
        yield piece


def unpacked(body: Iterator[bytes], headers: Mapping[str, str]) -> Iterator[bytes]:
    """Yields the unpacked body in small parts.

    Raises an error of httpx if the body has too many packings, or too many packed bytes.
    """
    work = _Work()
    for packing, size in _packings(headers):
        body = _response(packing, _sliced(body, size, work)).iter_bytes()
    return body


async def unpacked_async(pieces: AsyncPieces, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    """Does the work of :func:`unpacked` on an event loop."""

    async def looked_at() -> AsyncIterator[bytes]:
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
    body: AsyncIterator[bytes] = looked_at()
    for packing, size in _packings(headers):
        body = _response(packing, sliced(body, size)).aiter_bytes()
    async for piece in body:
        yield piece


class _Work:
    """Limits how many packed bytes of a body are unpacked."""

    def __init__(self) -> None:
        self._left = _MOST_WORK

    def slices(self, piece: bytes, size: int) -> Iterator[bytes]:
        """Yields a piece in slices of ``size`` bytes, while the limit allows."""
        for at in range(0, len(piece), size):
            part = piece[at : at + size]
            self._left -= len(part)
            if self._left < 0:
                raise httpx.DecodingError("Too much of it is packed.")
            yield part


def _packings(headers: Mapping[str, str]) -> list[tuple[str, int]]:
    """Returns the packings of a body, each with its slice size, the outermost first.

    Each is unpacked on its own: all at once, each packing would unpack a whole unpacked slice.
    """
    names = [name.strip().lower() for name in headers.get("content-encoding", "").split(",")]
    if len(names) > _MOST_PACKINGS:
        raise httpx.DecodingError("It is packed too often.")
    return [_PACKINGS[name] for name in reversed(names) if name in _PACKINGS]


def _sliced(body: Iterator[bytes], size: int, work: _Work) -> Iterator[bytes]:
    for piece in body:
        yield from work.slices(piece, size)


def _response(packing: str, content: Iterator[bytes] | AsyncIterator[bytes]) -> httpx.Response:
    return httpx.Response(200, headers={"content-encoding": packing}, content=content)
