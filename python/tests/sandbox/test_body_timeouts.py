"""Timeouts of the caller while it reads a paid answer."""

from __future__ import annotations

import threading
from typing import Callable, Iterator, Mapping

import httpx
import pytest
import requests
from urllib3 import Timeout

from exact_change import AsyncClient

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of
from ..seller import Reply, Seen, offer, settle, terms

# Seconds in which the terms must come, which no seller delays.
LIMIT = 2


@pytest.fixture
def silent(sandbox: Sandbox, make_seller: MakeSeller) -> Iterator[str]:
    """Starts a seller with an answer that falls silent until the test ends."""
    is_over = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b"a"
        is_over.wait(60)

    def answer(seen: Seen) -> Reply:
        if not seen.is_paid:
            return terms(offer(sandbox))
        settle(sandbox, seen, offer(sandbox))
        closing = {"connection": "close"} if seen.headers.get("connection") == "close" else {}
        return Reply(200, closing, pieces=pieces())

    yield make_seller(answer).url
    is_over.set()


def read_by_client(payer: Payer, url: str) -> None:
    """Reads the answer with the client itself."""
    payer.client.post(url, content=b"x", timeout=LIMIT)


def read_by_transport(payer: Payer, url: str) -> None:
    """Reads the answer with a client of httpx."""
    with httpx.Client(transport=payer.client.transport(), timeout=LIMIT) as http:
        http.post(url, content=b"x")


def _read_by_requests(
    payer: Payer, url: str, timeout: object, headers: Mapping[str, str] = {}
) -> None:
    with requests.Session() as session:
        session.headers.update(headers)
        session.mount("http://", payer.client.adapter())
        session.request("POST", url, data=b"x", timeout=timeout)  # type: ignore[arg-type]


def read_by_requests(payer: Payer, url: str) -> None:
    """Reads the answer with requests."""
    _read_by_requests(payer, url, LIMIT)


def read_by_requests_pair(payer: Payer, url: str) -> None:
    """Does the same, with a timeout for connecting and a timeout for reading."""
    _read_by_requests(payer, url, (60, LIMIT))


def read_by_requests_object(payer: Payer, url: str) -> None:
    """Does the same, with the timeout of urllib3."""
    _read_by_requests(payer, url, Timeout(connect=60, read=LIMIT))


def read_by_requests_total(payer: Payer, url: str) -> None:
    """Does the same, with a timeout of urllib3 for the whole request."""
    _read_by_requests(payer, url, Timeout(LIMIT))


def read_by_requests_closing(payer: Payer, url: str) -> None:
    """Does the same, and the seller ends the connection with its answer."""
    _read_by_requests(payer, url, LIMIT, {"connection": "close"})


READS = [
    *(read_by_client, read_by_transport),
    *(read_by_requests, read_by_requests_pair, read_by_requests_object, read_by_requests_total),
    read_by_requests_closing,
]


@pytest.mark.parametrize("read", READS)
def test_raises_when_a_paid_answer_is_silent_beyond_the_timeout_of_its_caller(
    read: Callable[[Payer, str], None], silent: str, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    with pytest.raises((httpx.ReadTimeout, requests.ConnectionError)):
        read(payer, silent)
    failure_of(lambda: payer.client.post(silent, content=b"x"), "already_spent")
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


async def test_raises_when_a_paid_answer_is_silent_beyond_the_timeout_on_an_event_loop(
    silent: str, sandbox: Sandbox
) -> None:
    async with AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"))) as client:
        with pytest.raises(httpx.ReadTimeout):
            await client.post(silent, content=b"x", timeout=LIMIT)
