"""A paid answer that breaks off, or whose reader stops, is not paid again."""

from __future__ import annotations

import base64
import gc
import io
import json
import threading
import time
from typing import Any, Callable, Iterator

import httpx
import pytest
import requests

from exact_change import AsyncClient, ExactChangeError, receipt_of

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of, until
from ..seller import Reply, Seen, Seller, offer, settle, terms


class Stream:
    """A seller of a stream: what it sends after the first event is up to a test."""

    def __init__(self, sandbox: Sandbox, make_seller: MakeSeller) -> None:
        self.goes_on = threading.Event()
        self.is_cut = False
        self._sandbox = sandbox
        self.seller: Seller = make_seller(self._answer)

    @property
    def url(self) -> str:
        """Its address."""
        return self.seller.url

    def end(self) -> None:
        """Sends the rest."""
        self.goes_on.set()

    def cut(self) -> None:
        """Breaks the line."""
        self.is_cut = True
        self.goes_on.set()

    def _answer(self, seen: Seen) -> Reply:
        if not seen.is_paid:
            return terms(offer(self._sandbox))
        settled = settle(self._sandbox, seen, offer(self._sandbox))
        said = base64.b64encode(json.dumps(settled).encode()).decode()
        headers = {"content-type": "text/event-stream", "payment-response": said}
        return Reply(200, headers, pieces=self._pieces())

    def _pieces(self) -> Iterator[bytes]:
        yield b"data: 1\n\n"
        self.goes_on.wait(10)
        if self.is_cut:
            raise OSError
        yield b"data: 2\n\n"


@pytest.fixture
def stream(sandbox: Sandbox, make_seller: MakeSeller) -> Iterator[Stream]:
    """A stream that ends with the test."""
    one = Stream(sandbox, make_seller)
    yield one
    one.goes_on.set()


_open: list[Any] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _open:
        _open.pop().close()


def opened(payer: Payer, url: str) -> httpx.Response:
    """A paid answer by httpx whose first event has come, or may come."""
    http = httpx.Client(transport=payer.client.transport())
    _open.append(http)
    response = http.send(http.build_request("POST", url, content=b"x"), stream=True)
    assert response.status_code == 200
    return response


def asked(payer: Payer, url: str) -> Any:
    """The same by requests."""
    session = requests.Session()
    _open.append(session)
    session.mount("http://", payer.client.adapter())
    return session.post(url, data=b"x", stream=True, timeout=30)


Open = Callable[[Payer, str], Any]
READINGS: dict[str, tuple[Open, Callable[[Any], Any]]] = {
    "read": (opened, lambda one: one.read()),
    "iter_bytes": (opened, lambda one: list(one.iter_bytes())),
    "iter_raw": (opened, lambda one: list(one.iter_raw())),
    "iter_lines": (opened, lambda one: list(one.iter_lines())),
    "content": (asked, lambda one: one.content),
    "iter_content": (asked, lambda one: list(one.iter_content(2))),
    "requests iter_lines": (asked, lambda one: list(one.iter_lines())),
    "raw": (asked, lambda one: one.raw.read()),
    "raw to its end": (asked, lambda one: one.raw.read(-1)),
    "raw lines": (asked, lambda one: list(one.raw)),
    "raw readline": (asked, lambda one: list(iter(one.raw.readline, b""))),
    "raw readlines": (asked, lambda one: one.raw.readlines()),
    "raw read1": (asked, lambda one: list(iter(lambda: one.raw.read1(4), b""))),
    "raw readinto": (asked, lambda one: list(iter(lambda: one.raw.readinto(bytearray(4)), 0))),
    "raw data": (asked, lambda one: one.raw.data),
    "raw as text": (asked, lambda one: io.TextIOWrapper(one.raw).read()),
}
STOPS: dict[str, tuple[Open, Callable[[Any], Any]]] = {
    "close": (opened, lambda one: one.close()),
    "close after a piece": (opened, lambda one: (next(one.iter_bytes()), one.close())),
    "requests close": (asked, lambda one: one.close()),
    "requests close after a piece": (asked, lambda one: (next(one.iter_content(4)), one.close())),
}


def paid_once(payer: Payer, stream: Stream) -> None:
    """The same call again pays nothing, and says so."""
    failure_of(lambda: payer.client.post(stream.url, content=b"x"), "already_spent")
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


@pytest.mark.parametrize("way", list(READINGS))
def test_one_that_breaks_off_is_not_paid_again(
    way: str, stream: Stream, make_payer: MakePayer
) -> None:
    begin, read = READINGS[way]
    payer = make_payer(USDC="1")
    response = begin(payer, stream.url)
    stream.cut()
    with pytest.raises((httpx.HTTPError, requests.RequestException, Exception)):
        read(response)
    response.close()
    paid_once(payer, stream)


@pytest.mark.parametrize("way", [way for way, one in READINGS.items() if one[0] is asked])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_one_that_breaks_off_and_is_forgotten_is_not_paid_again(
    way: str, stream: Stream, make_payer: MakePayer
) -> None:
    read, payer = READINGS[way][1], make_payer(USDC="1")
    stream.cut()
    # Each by itself, for its frames hold the answer.
    with pytest.raises(Exception):  # noqa: B017
        read(asked(payer, stream.url))
    gc.collect()
    paid_once(payer, stream)


@pytest.mark.parametrize("way", list(STOPS))
def test_one_whose_reader_stops_is_not_paid_again(
    way: str, stream: Stream, make_payer: MakePayer
) -> None:
    begin, stop = STOPS[way]
    payer = make_payer(USDC="1")
    response = begin(payer, stream.url)
    stop(response)
    paid_once(payer, stream)


@pytest.mark.parametrize("way", list(READINGS))
def test_one_that_comes_to_its_end_is_delivered(
    way: str, stream: Stream, make_payer: MakePayer
) -> None:
    begin, read = READINGS[way]
    payer = make_payer(USDC="1")
    response = begin(payer, stream.url)
    stream.end()
    read(response)
    response.close()
    # A purchase of its own.
    assert payer.client.post(stream.url, content=b"x").status_code == 200
    assert payer.signed == ["payment"] * 2


async def test_on_a_loop_one_that_is_left_is_not_paid_again(
    sandbox: Sandbox, stream: Stream
) -> None:
    wallet = sandbox.wallet(USDC="1")
    async with AsyncClient(**sandbox.options(wallet)) as client:
        async with client.stream("POST", stream.url, content=b"x") as response:
            async for _ in response.aiter_bytes():
                break
        with pytest.raises(ExactChangeError) as spent:
            await client.post(stream.url, content=b"x")
        assert spent.value.code == "already_spent"
        stream.end()
        bought = await client.post(stream.url, content=b"x", idempotency_key="another")
        assert bought.content == b"data: 1\n\ndata: 2\n\n"


@pytest.mark.parametrize("begin", [opened, asked])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_is_forgotten_half_read_is_lost(
    begin: Open, stream: Stream, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    response = begin(payer, stream.url)
    pieces = response.iter_content(4) if begin is asked else response.iter_bytes()
    assert next(pieces).startswith(b"data")
    del response, pieces
    payer.told("payment.settled")

    def is_spent() -> bool:
        gc.collect()
        time.sleep(0.5)
        try:
            payer.client.post(stream.url, content=b"x")
        except ExactChangeError as error:
            return error.code == "already_spent"
        raise AssertionError("It was bought twice.")

    until("that is noted", is_spent)


@pytest.mark.parametrize("begin", [opened, asked])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_nobody_reads_is_a_purchase_of_its_own(
    begin: Open, stream: Stream, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    kept = begin(payer, stream.url)
    again = begin(payer, stream.url)
    assert receipt_of(kept) != receipt_of(again) and payer.signed == ["payment"] * 2
    stream.end()
    kept.close()
    again.close()
