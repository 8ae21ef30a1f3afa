"""Bodies of requests that are sent more than once, or at once."""

from __future__ import annotations

import asyncio
import io
from types import SimpleNamespace
from typing import Any, AsyncIterator, Callable, Iterator

import httpx
import pytest
import requests

from exact_change._http import kept_body, requests_bodies
from exact_change._http.kept_body import KeptBody


class Source:
    """A body whose parts are others each time."""

    def __init__(self, *times: list[bytes]) -> None:
        self._times = iter(times)

    def __iter__(self) -> Iterator[bytes]:
        return iter(next(self._times))


def by_httpx(parts: Any) -> tuple[KeptBody, Callable[[], Iterator[bytes]]]:
    request: Any = httpx.Request("POST", "http://127.0.0.1:9", content=parts)
    return kept_body.keep_body(request), lambda: iter(request.stream)


def by_requests(parts: Any) -> tuple[KeptBody, Callable[[], Iterator[bytes]]]:
    request: Any = requests.Request("POST", "http://127.0.0.1:9", data=parts).prepare()

    def send() -> Iterator[bytes]:
        requests_bodies.keep_body(request)
        return iter(request.body)

    return requests_bodies.keep_body(request), send


KINDS = pytest.mark.parametrize("keep", [by_httpx, by_requests])


@KINDS
@pytest.mark.parametrize(
    ("times", "whole"),
    [
        ([[b"ab", b"cd"], [b"ab", b"cd"]], b"abcd"),
        # The parts may be divided elsewhere, and a shorter send tells nothing new.
        ([[b"ab", b"c"], [b"a", b"!"], [b"abc", b"d"]], b"abcd"),
        ([[b"ab", b"c"], [b"b", b"!"], [b"b"]], None),
        ([[b"a", b"c"], [b"ab", b"c"], [b"abc"]], b"abc"),
        ([[b"ab", b"c"], [b"a", b"!"], [b"a"]], None),
    ],
)
def test_knows_a_body_whose_sends_begin_equally(
    keep: Any, times: list[list[bytes]], whole: bytes | None
) -> None:
    """Each send breaks off after its first part, except for the last send."""
    kept, send = keep(Source(*times))
    for _ in times[1:]:
        next(send())
    for _ in send():
        pass
    assert (kept.whole() if kept.is_known else None) == whole


@KINDS
def test_knows_no_rest_of_a_body_of_equal_parts(keep: Any) -> None:
    kept, send = keep(iter([b"a", b"a", b"a"]))
    next(send())
    assert list(send()) == [b"a", b"a"]
    assert not kept.is_known


def test_knows_no_rest_of_a_file_of_equal_bytes() -> None:
    size = 65_536
    kept, send = by_requests(SimpleNamespace(read=io.BytesIO(b"a" * 3 * size).read))
    next(send())
    assert b"".join(send()) == b"a" * 2 * size
    assert not kept.is_known


@KINDS
def test_knows_no_body_of_sends_at_once(keep: Any) -> None:
    kept, send = keep(Source([b"a", b"a"], [b"a", b"a"]))
    first, second = send(), send()
    for part in (first, second, first, second):
        next(part)
    assert (list(second), list(first)) == ([], [])
    assert not kept.is_known


def test_knows_no_rest_of_an_asynchronous_body_of_equal_parts() -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"a"

    class Shared:
        """Asynchronous parts that httpx does not recognise as a generator."""

        def __init__(self) -> None:
            self._parts = parts()

        def __aiter__(self) -> Shared:
            return self

        async def __anext__(self) -> bytes:
            return await self._parts.__anext__()

    async def send() -> bool:
        request: Any = httpx.Request("POST", "http://127.0.0.1:9", content=Shared())
        kept = kept_body.keep_body(request)
        first = request.stream.__aiter__()
        await first.__anext__()
        await first.aclose()
        assert [part async for part in request.stream] == [b"a", b"a"]
        return kept.is_known

    assert not asyncio.run(send())
