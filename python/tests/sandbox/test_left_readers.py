"""Readers that leave a stream of a transport that answers without waiting."""

from __future__ import annotations

import asyncio
from typing import AsyncIterator

import httpx
import pytest

from exact_change import AsyncClient, ExactChangeError

from ..node import Sandbox
from ..payer import PRICE
from ..seller import Seen, offer, selling

URL = "https://shop.example/stream"


class AtOnce(httpx.AsyncBaseTransport):
    """A seller in the caller's process, as behind ``httpx.ASGITransport``."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._answer = selling(sandbox, offer(sandbox))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        reply = self._answer(Seen(request.method, request.url.path, request.headers, b""))
        assert reply is not None

        async def pieces() -> AsyncIterator[bytes]:
            yield reply.body
            yield reply.body

        return httpx.Response(reply.status, headers=dict(reply.headers), content=pieces())


async def _relayed(pieces: AsyncIterator[bytes], times: int) -> AsyncIterator[bytes]:
    async for piece in pieces if times == 0 else _relayed(pieces, times - 1):
        yield piece


@pytest.mark.parametrize("readers", [0, 8])
@pytest.mark.parametrize("presign", [False, True])
async def test_buys_once_when_the_caller_repeats_a_call_at_once_after_it_left_the_stream(
    presign: bool, readers: int, sandbox: Sandbox
) -> None:
    wallet = sandbox.wallet(USDC="1")
    async with AsyncClient(**sandbox.options(wallet, presign=presign and [URL])) as client:
        transport = client.transport(AtOnce(sandbox))
        async with httpx.AsyncClient(transport=transport) as http:
            # By this call, the client knows the terms.
            assert (await http.get(URL)).content == b"boughtbought"
            answer = await http.send(http.build_request("GET", URL), stream=True)
            async for _ in _relayed(answer.aiter_bytes(), readers):
                break
            with pytest.raises(ExactChangeError) as caught:
                await http.get(URL)
    assert (caught.value.code, caught.value.funds) == ("already_spent", "spent")
    assert 1_000_000 - sandbox.balance(wallet.address, "USDC") == 2 * PRICE


async def test_buys_again_while_another_reader_has_the_stream_open(
    sandbox: Sandbox,
) -> None:
    wallet = sandbox.wallet(USDC="1")
    async with AsyncClient(**sandbox.options(wallet, presign=[URL])) as client:
        transport = client.transport(AtOnce(sandbox))
        async with httpx.AsyncClient(transport=transport) as http:
            answer = await http.send(http.build_request("GET", URL), stream=True)
            pieces = answer.aiter_bytes()
            assert await pieces.__anext__() == b"bought"
            call = asyncio.ensure_future(http.get(URL))
            assert (await asyncio.wait_for(call, 60)).content == b"boughtbought"
            assert [piece async for piece in pieces] == [b"bought"]
    assert 1_000_000 - sandbox.balance(wallet.address, "USDC") == 2 * PRICE
