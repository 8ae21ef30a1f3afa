"""Bodies of answers that are packed to cost more than they say."""

from __future__ import annotations

import gzip
import zlib
from typing import AsyncIterator, Iterator

import httpx
import pytest

from exact_change._http.pieces import AsyncPieces, unpacked, unpacked_async


class Endless:
    """Blocks of deflate that are all empty, and of which none is the last."""

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
async def test_a_body_that_unpacks_to_nothing_is_given_up(packings: str) -> None:
    body, headers = Endless(), {"content-encoding": packings}
    with pytest.raises(httpx.DecodingError):
        list(unpacked(iter(body), headers))
    pieces = AsyncPieces(Endless().__aiter__())
    with pytest.raises(httpx.DecodingError):
        [one async for one in unpacked_async(pieces, headers)]
    assert body.taken <= (1 << 20) + 1_000


def test_packings_with_another_name_and_unknown_ones_are_as_to_urllib3() -> None:
    packed = gzip.compress(b"{}")
    assert list(unpacked(iter([packed]), {"content-encoding": "x-gzip"})) == [b"{}"]
    assert list(unpacked(iter([packed]), {"content-encoding": "\xe9, other"})) == [packed]
