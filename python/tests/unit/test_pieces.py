"""Compressed bodies that cost more work than their content is worth."""

from __future__ import annotations

import gzip
import zlib
from typing import AsyncIterator, Iterator

import httpx
import pytest

from exact_change._http.pieces import AsyncPieces, unpacked, unpacked_async


class Endless:
    """An endless stream of empty deflate blocks."""

    taken = 0

    def __iter__(self) -> Iterator[bytes]:
        packed = zlib.compressobj(9, zlib.DEFLATED, 31)
        while True:
            block = (packed.compress(b"") + packed.flush(zlib.Z_FULL_FLUSH)) * 80
            self.taken += len(block)
            yield block

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for block in self:
            yield block


@pytest.mark.parametrize("packings", ["gzip", "x-gzip", "br, gzip", "gzip, gzip, gzip"])
async def test_gives_up_a_body_that_unpacks_to_nothing(packings: str) -> None:
    body, headers = Endless(), {"content-encoding": packings}
    with pytest.raises(httpx.DecodingError):
        list(unpacked(iter(body), headers))
    pieces = AsyncPieces(Endless().__aiter__())
    with pytest.raises(httpx.DecodingError):
        [piece async for piece in unpacked_async(pieces, headers)]
    assert body.taken <= (1 << 20) + 1_000


def test_unpacks_x_gzip_and_passes_on_unknown_encodings_as_urllib3_does() -> None:
    packed = gzip.compress(b"{}")
    assert list(unpacked(iter([packed]), {"content-encoding": "x-gzip"})) == [b"{}"]
    assert list(unpacked(iter([packed]), {"content-encoding": "\xe9, other"})) == [packed]
