"""Transports that answer without waiting or read their answers, and readers of raw answers."""

from __future__ import annotations

import asyncio
import gc
import gzip
from typing import AsyncIterator

import httpx
import pytest
import requests

from exact_change import AsyncClient, ExactChangeError

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE
from ..seller import BOUGHT, Reply, Seen, offer, selling

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


class Reading(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Reads each answer before it returns it, as transports do that log or cache."""

    def __init__(self) -> None:
        self._below = httpx.HTTPTransport()
        self._async_below = httpx.AsyncHTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._below.handle_request(request)
        response.read()
        return response

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._async_below.handle_async_request(request)
        await response.aread()
        return response

    def close(self) -> None:
        self._below.close()

    async def aclose(self) -> None:
        await self._async_below.aclose()


PACKED = Reply(200, {"content-encoding": "gzip"}, gzip.compress(b"bought"))


@pytest.mark.parametrize("reply", [BOUGHT, PACKED], ids=["plain", "packed"])
def test_buys_each_time_over_a_transport_that_reads_its_answers(
    reply: Reply, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer, url = make_payer(USDC="1"), make_seller(selling(sandbox, offer(sandbox), reply)).url
    payer.client.warm()
    with httpx.Client(transport=payer.client.transport(Reading()), timeout=60) as http:
        for _ in range(2):
            assert http.get(url).content == b"bought"
            gc.collect()
    assert payer.signed == ["payment"] * 2


@pytest.mark.parametrize("reply", [BOUGHT, PACKED], ids=["plain", "packed"])
async def test_buys_each_time_over_an_async_transport_that_reads_its_answers(
    reply: Reply, sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    wallet = sandbox.wallet(USDC="1")
    url = make_seller(selling(sandbox, offer(sandbox), reply)).url
    async with AsyncClient(**sandbox.options(wallet)) as client:
        await client.warm()
        async with httpx.AsyncClient(transport=client.transport(Reading()), timeout=60) as http:
            for _ in range(2):
                assert (await http.get(url)).content == b"bought"
                gc.collect()
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 2 * PRICE


def test_asks_nodes_over_a_transport_that_reads_its_answers(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    with Reading() as reading:
        payer = make_payer(USDC="1", http_transport=reading)
        assert [held.amount for held in payer.client.balance(["USDC"])] == ["1000000"]


def test_unpacks_a_paid_answer_for_a_reader_that_sets_decode_content(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    url = make_seller(selling(sandbox, offer(sandbox), PACKED)).url
    with requests.Session() as session:
        session.mount("http://", make_payer(USDC="1").client.adapter())
        with session.get(url, stream=True, timeout=60).raw as raw:
            raw.decode_content = True
            assert raw.read() == b"bought"
