"""Paid streams that break off, and streams with a reader that stops."""

from __future__ import annotations

import asyncio
import base64
import gc
import io
import json
import threading
from contextlib import AsyncExitStack
from typing import Any, Callable, Iterator

import httpx
import pytest
import requests
from requests.adapters import HTTPAdapter

from exact_change import AsyncClient, ExactChangeError, receipt_of

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of
from ..seller import Reply, Seen, Seller, offer, settle, terms


class Stream:
    """A seller of a stream; the test decides what follows the first event."""

    def __init__(self, sandbox: Sandbox, make_seller: MakeSeller) -> None:
        self.may_continue = threading.Event()
        self.is_cut = False
        self._sandbox = sandbox
        self.seller: Seller = make_seller(self._answer)

    @property
    def url(self) -> str:
        """URL of the seller."""
        return self.seller.url

    def end(self) -> None:
        """Lets the seller send the rest."""
        self.may_continue.set()

    def cut(self) -> None:
        """Cuts the connection."""
        self.is_cut = True
        self.may_continue.set()

    def _answer(self, seen: Seen) -> Reply:
        if not seen.is_paid:
            return terms(offer(self._sandbox))
        settled = settle(self._sandbox, seen, offer(self._sandbox))
        encoded = base64.b64encode(json.dumps(settled).encode()).decode()
        headers = {"content-type": "text/event-stream", "payment-response": encoded}
        return Reply(200, headers, pieces=self._pieces())

    def _pieces(self) -> Iterator[bytes]:
        yield b"data: 1\n\n"
        self.may_continue.wait(60)
        if self.is_cut:
            raise OSError
        yield b"data: 2\n\n"


@pytest.fixture
def stream(sandbox: Sandbox, make_seller: MakeSeller) -> Iterator[Stream]:
    """A stream that ends with the test."""
    paid_stream = Stream(sandbox, make_seller)
    yield paid_stream
    paid_stream.may_continue.set()


_open: list[Any] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _open:
        _open.pop().close()


def open_with_httpx(payer: Payer, url: str) -> httpx.Response:
    """Buys the stream with httpx; returns the response before its body was read."""
    http = httpx.Client(transport=payer.client.transport())
    _open.append(http)
    response = http.send(http.build_request("POST", url, content=b"x"), stream=True)
    assert response.status_code == 200
    return response


def open_with_requests(payer: Payer, url: str) -> Any:
    """Buys the stream with requests; returns the response before its body was read."""
    session = requests.Session()
    _open.append(session)
    session.mount("http://", payer.client.adapter())
    return session.post(url, data=b"x", stream=True, timeout=60)


Open = Callable[[Payer, str], Any]
READINGS: dict[str, tuple[Open, Callable[[Any], Any]]] = {
    "read": (open_with_httpx, lambda answer: answer.read()),
    "iter_bytes": (open_with_httpx, lambda answer: list(answer.iter_bytes())),
    "iter_raw": (open_with_httpx, lambda answer: list(answer.iter_raw())),
    "iter_lines": (open_with_httpx, lambda answer: list(answer.iter_lines())),
    "content": (open_with_requests, lambda answer: answer.content),
    "iter_content": (open_with_requests, lambda answer: list(answer.iter_content(2))),
    "requests iter_lines": (open_with_requests, lambda answer: list(answer.iter_lines())),
    "raw": (open_with_requests, lambda answer: answer.raw.read()),
    "raw to its end": (open_with_requests, lambda answer: answer.raw.read(-1)),
    "raw lines": (open_with_requests, lambda answer: list(answer.raw)),
    "raw readline": (open_with_requests, lambda answer: list(iter(answer.raw.readline, b""))),
    "raw readlines": (open_with_requests, lambda answer: answer.raw.readlines()),
    "raw read1": (open_with_requests, lambda answer: list(iter(lambda: answer.raw.read1(4), b""))),
    "raw readinto": (
        open_with_requests,
        lambda answer: list(iter(lambda: answer.raw.readinto(bytearray(4)), 0)),
    ),
    "raw data": (open_with_requests, lambda answer: answer.raw.data),
    "raw chunks": (open_with_requests, lambda answer: list(answer.raw.read_chunked())),
    "raw up to a limit": (open_with_requests, lambda answer: answer.raw.read(1_000)),
    "raw as text": (open_with_requests, lambda answer: io.TextIOWrapper(answer.raw).read()),
}
STOPS: dict[str, tuple[Open, Callable[[Any], Any]]] = {
    "close": (open_with_httpx, lambda answer: answer.close()),
    "close after a piece": (
        open_with_httpx,
        lambda answer: (next(answer.iter_bytes()), answer.close()),
    ),
    "leave after a piece": (open_with_httpx, lambda answer: next(answer.iter_bytes())),
    "requests close": (open_with_requests, lambda answer: answer.close()),
    "requests close after a piece": (
        open_with_requests,
        lambda answer: (next(answer.iter_content(4)), answer.close()),
    ),
}


def paid_once(payer: Payer, stream: Stream) -> None:
    """Asserts that an equal call raises ``already_spent`` and pays nothing."""
    failure_of(lambda: payer.client.post(stream.url, content=b"x"), "already_spent")
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


@pytest.mark.parametrize("way", list(READINGS))
def test_raises_already_spent_for_a_repeat_after_a_stream_broke_off(
    way: str, stream: Stream, make_payer: MakePayer
) -> None:
    (begin, read), payer = READINGS[way], make_payer(USDC="1")
    response = begin(payer, stream.url)
    stream.cut()
    with pytest.raises(Exception):  # noqa: B017
        read(response)
    response.close()
    paid_once(payer, stream)


def test_raises_already_spent_for_a_repeat_when_urllib3_does_not_notice_a_cut_body(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build = HTTPAdapter.build_response

    def build_as_before_2_0(adapter: Any, request: Any, raw: Any) -> requests.Response:
        raw.enforce_content_length = False
        return build(adapter, request, raw)

    def answer(seen: Seen) -> Reply:
        if seen.payment is None:
            return terms(offer(sandbox))
        settle(sandbox, seen, offer(sandbox))
        return Reply(body=b"x" * 1000, cut_at=500)

    monkeypatch.setattr(HTTPAdapter, "build_response", build_as_before_2_0)
    payer, seller = make_payer(USDC="1"), make_seller(answer)
    with requests.Session() as session:
        session.mount("http://", payer.client.adapter())
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            session.get(seller.url)
        failure_of(lambda: session.get(seller.url), "already_spent")
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


@pytest.mark.parametrize(
    "way", [way for way, (begin, _) in READINGS.items() if begin is open_with_requests]
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_raises_already_spent_for_a_repeat_after_a_broken_response_was_collected(
    way: str, stream: Stream, make_payer: MakePayer
) -> None:
    read, payer = READINGS[way][1], make_payer(USDC="1")
    stream.cut()
    # No variable keeps the exception, because its frames hold the response.
    with pytest.raises(Exception):  # noqa: B017
        read(open_with_requests(payer, stream.url))
    gc.collect()
    paid_once(payer, stream)


@pytest.mark.parametrize("way", list(STOPS))
def test_raises_already_spent_for_a_repeat_after_the_reader_left_a_stream(
    way: str, stream: Stream, make_payer: MakePayer
) -> None:
    (begin, stop), payer = STOPS[way], make_payer(USDC="1")
    response = begin(payer, stream.url)
    stop(response)
    paid_once(payer, stream)


@pytest.mark.parametrize("way", list(READINGS))
def test_buys_again_after_a_stream_was_read_to_its_end(
    way: str, stream: Stream, make_payer: MakePayer
) -> None:
    (begin, read), payer = READINGS[way], make_payer(USDC="1")
    response = begin(payer, stream.url)
    stream.end()
    read(response)
    response.close()
    # The stream was delivered, so an equal call is a new purchase.
    assert payer.client.post(stream.url, content=b"x").status_code == 200
    assert payer.signed == ["payment"] * 2


@pytest.mark.parametrize("closes", [True, False])
@pytest.mark.parametrize("is_ahead", [True, False])
async def test_raises_already_spent_after_a_stream_was_left_on_an_event_loop(
    closes: bool, is_ahead: bool, sandbox: Sandbox, stream: Stream
) -> None:
    ahead = [stream.url] if is_ahead else False
    options = sandbox.options(sandbox.wallet(USDC="1"), presign=ahead)
    async with AsyncClient(**options) as client, AsyncExitStack() as opened:
        if is_ahead:
            stream.end()
            await client.post(stream.url, content=b"x")
        left = client.stream("POST", stream.url, content=b"x")
        response = await opened.enter_async_context(left)
        async for _ in response.aiter_bytes():
            break
        if closes:
            await opened.aclose()
        with pytest.raises(ExactChangeError) as spent:
            await client.post(stream.url, content=b"x")
        assert spent.value.code == "already_spent"
        stream.end()
        bought = await client.post(stream.url, content=b"x", idempotency_key="another")
        assert bought.content == b"data: 1\n\ndata: 2\n\n"


async def test_raises_already_spent_after_a_read_was_cancelled_whose_response_stays_open(
    sandbox: Sandbox, stream: Stream
) -> None:
    wallet = sandbox.wallet(USDC="1")
    async with AsyncClient(**sandbox.options(wallet)) as client:
        async with httpx.AsyncClient(transport=client.transport()) as http:
            request = http.build_request("POST", stream.url, content=b"x")
            response = await http.send(request, stream=True)
            reading = asyncio.ensure_future(response.aread())
            while response.num_bytes_downloaded == 0:
                await asyncio.sleep(0.01)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            with pytest.raises(ExactChangeError) as spent:
                await http.post(stream.url, content=b"x")
            assert spent.value.code == "already_spent"
            await response.aclose()
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - PRICE


@pytest.mark.parametrize("begin", [open_with_httpx, open_with_requests])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_raises_already_spent_after_a_half_read_response_was_collected(
    begin: Open, stream: Stream, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    response = begin(payer, stream.url)
    pieces = response.iter_content(4) if begin is open_with_requests else response.iter_bytes()
    assert next(pieces).startswith(b"data")
    del response, pieces
    gc.collect()
    paid_once(payer, stream)


@pytest.mark.parametrize("begin", [open_with_httpx, open_with_requests])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_buys_again_while_the_response_of_an_equal_call_is_unread(
    begin: Open, stream: Stream, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    unread = begin(payer, stream.url)
    again = begin(payer, stream.url)
    assert receipt_of(unread) != receipt_of(again) and payer.signed == ["payment"] * 2
    stream.end()
    unread.close()
    again.close()
