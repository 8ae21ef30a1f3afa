"""Paid streams of events with a reader that leaves them before their end."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator

import pytest
import requests

from exact_change import AsyncClient, ExactChangeError

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of
from ..seller import Reply, Seen, Seller, offer, settle, terms

LAST = [
    pytest.param([b'data: {"a":1}\n\n', b"data: [DONE]\n\n"], id="the last event"),
    pytest.param([b"data: 1\n\ndata: [DO", b"NE]", b"\n\n"], id="the last event in parts"),
    pytest.param([b"data: 1\r\n\r\ndata:[DONE]\r\n\r\n"], id="long line ends"),
    pytest.param([b"data: [DONE]\n\n"], id="the only event, which is the last"),
]
OTHER = [
    pytest.param(b'data: {"a":1}\n\n', id="another event"),
    pytest.param(b'data: {"a":"data: [DONE]\n\n', id="text that quotes the last event"),
    pytest.param(b'data: {"a":"data: [DONE]' + b"\n" * 8, id="that text before empty lines"),
    pytest.param(b"data: 1\n\ndata: [DONE]", id="a part of the last event"),
]
SellStream = Callable[..., Seller]


@pytest.fixture
def sell(sandbox: Sandbox, make_seller: MakeSeller) -> Iterator[SellStream]:
    """Makes sellers of streams that stay open until the test ends."""
    is_over = threading.Event()

    def make(parts: list[bytes]) -> Seller:
        def pieces() -> Iterator[bytes]:
            yield from parts
            is_over.wait(60)

        def answer(seen: Seen) -> Reply:
            if not seen.is_paid:
                return terms(offer(sandbox))
            settle(sandbox, seen, offer(sandbox))
            return Reply(200, {"content-type": "text/event-stream"}, pieces=pieces())

        return make_seller(answer)

    yield make
    is_over.set()


def leave_httpx(payer: Payer, url: str, end: bytes) -> None:
    """Buys a stream with httpx, and closes it once a text has come."""
    seen = b""
    with payer.client.stream("POST", url, content=b"x") as response:
        for piece in response.iter_bytes():
            seen += piece
            if seen.endswith(end):
                return


def _leave_requests(payer: Payer, url: str, read: Callable[[Any], bytes], end: bytes) -> None:
    seen = b""
    with requests.Session() as session:
        session.mount("http://", payer.client.adapter())
        with session.post(url, data=b"x", stream=True, timeout=60) as response:
            while not seen.endswith(end):
                seen += read(response)


def leave_requests(payer: Payer, url: str, end: bytes) -> None:
    """Does the same with requests."""
    pieces: list[Iterator[bytes]] = []

    def read(response: Any) -> bytes:
        if not pieces:
            pieces.append(response.iter_content(4))
        return next(pieces[0])

    _leave_requests(payer, url, read, end)


def leave_raw(payer: Payer, url: str, end: bytes) -> None:
    """Does the same with the raw answer of requests."""
    _leave_requests(payer, url, lambda response: bytes(response.raw.read(1)), end)


LEAVES = [leave_httpx, leave_requests, leave_raw]
Leave = Callable[[Payer, str, bytes], None]


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("parts", LAST)
def test_buys_again_after_a_reader_left_a_stream_behind_its_last_event(
    leave: Leave, parts: list[bytes], sell: SellStream, make_payer: MakePayer
) -> None:
    payer, seller = make_payer(USDC="1"), sell(parts)
    for _ in range(2):
        leave(payer, seller.url, b"".join(parts)[-8:])
    assert payer.signed == ["payment"] * 2


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("text", OTHER)
def test_raises_already_spent_after_a_reader_left_a_stream_before_its_last_event(
    leave: Leave, text: bytes, sell: SellStream, make_payer: MakePayer
) -> None:
    payer, seller = make_payer(USDC="1"), sell([text])
    leave(payer, seller.url, text)
    failure_of(lambda: payer.client.post(seller.url, content=b"x"), "already_spent")
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


@pytest.mark.parametrize(("text", "is_bought"), [(b"data: [DONE]\n\n", True), (b"a\n\n", False)])
async def test_tells_a_left_stream_by_its_last_event_on_an_event_loop(
    text: bytes, is_bought: bool, sell: SellStream, sandbox: Sandbox
) -> None:
    wallet, seller = sandbox.wallet(USDC="1"), sell([text])
    async with AsyncClient(**sandbox.options(wallet)) as client:

        async def leave() -> None:
            async with client.stream("POST", seller.url, content=b"x") as response:
                async for piece in response.aiter_bytes():
                    assert piece == text
                    break

        await leave()
        if is_bought:
            await leave()
        else:
            with pytest.raises(ExactChangeError) as spent:
                await leave()
            assert spent.value.code == "already_spent"
    paid = 1_000_000 - sandbox.balance(wallet.address, "USDC")
    assert paid == PRICE * (2 if is_bought else 1)
