"""A 402 that falls silent: the call goes on, and neither a thread nor a socket stays behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import FrameType, SimpleNamespace
from typing import Any, Callable, Iterator

import httpx
import pytest
import requests

from exact_change import AsyncClient, Client, ExactChangeError
from exact_change._http import pieces, replies, requests_replies
from exact_change._http.replies import BlockingReply
from exact_change._kernel.hosts import threads
from exact_change._kernel.signals import Signal
from exact_change._kernel.steps import bounded
from exact_change._kernel.task import Steps

from ..conftest import MakeSeller
from ..node import Sandbox
from ..payer import until
from ..seller import Reply, offer, terms

HURRY: Any = {"timeouts": {"terms": 200}}
# Half of the terms must have come by then, also on a busy machine.
PATIENT: Any = {"timeouts": {"terms": 3_000}}
ENDS = {"in the terms": "timeout", "after the terms": "bought"}
REFUSAL = "in a refusal"


@pytest.fixture
def silent(
    sandbox: Sandbox, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Starts a seller that sends half of a 402; returns its URL, and when its client hung up.

    For a refusal, the first 402 is whole, and the answer to the payment is half of a 402.
    """
    half, hung_up = b"HTTP/1.1 402 \r\ncontent-length: 9000\r\n", threading.Event()
    whole = b""
    if request.param == REFUSAL:
        # The rest is read until the client closes, however late that is, and the end of the reads
        # takes its time.
        monkeypatch.setattr(replies, "QUICK_SECONDS", 60)
        half += b"\r\nhalf"
        whole = b"HTTP/1.1 402 \r\ncontent-length: 0\r\nPAYMENT-REQUIRED: %b\r\n\r\n" % (
            terms(offer(sandbox)).headers["PAYMENT-REQUIRED"].encode()
        )
    elif request.param == "in the terms":
        half += b'content-type: application/json\r\n\r\n{"x402Version":1,"accepts":['
        # Enough for a piece of requests.
        half += b" " * 5_000
    else:
        half += b"PAYMENT-REQUIRED: %b\r\n\r\nhalf" % (
            terms(offer(sandbox)).headers["PAYMENT-REQUIRED"].encode()
        )

    def answer(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            request = connection.recv(65_536).lower()
            if whole:
                connection.sendall(whole)
                connection.recv(65_536)
            elif b"payment-signature" in request:
                connection.sendall(b"HTTP/1.1 200 \r\ncontent-length: 6\r\n\r\nbought")
                return
            connection.sendall(half)
            while connection.recv(65_536):
                continue
        hung_up.set()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield request.param, f"http://127.0.0.1:{listener.getsockname()[1]}", hung_up
        listener.shutdown(socket.SHUT_RDWR)


def by_client(client: Client, url: str) -> str:
    return client.get(url, timeout=None).text


def by_requests(client: Client, url: str) -> str:
    with requests.Session() as session:
        session.mount("http://", client.adapter())
        return session.get(url, timeout=None).text


def open_files() -> int:
    # A pool of requests closes its free connections only when it is collected.
    gc.collect()
    return len(os.listdir("/dev/fd"))


def readers() -> set[int]:
    """Returns the threads that wait for a piece of a body, or for another thread that does."""
    return {ident for ident, frame in sys._current_frames().items() if is_reading(frame)}


def is_reading(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == pieces.__file__:
            return True
        frame = frame.f_back
    return False


def end_of(buy: Callable[[], str]) -> str:
    try:
        return buy()
    except ExactChangeError as error:
        return error.code


@pytest.mark.parametrize("silent", list(ENDS), indirect=True)
@pytest.mark.parametrize("buy", [by_client, by_requests])
def test_leaves_no_thread_and_no_socket_behind_when_a_402_falls_silent(
    buy: Callable[[Client, str], str],
    silent: tuple[str, str, threading.Event],
    sandbox: Sandbox,
) -> None:
    where, url, hung_up = silent
    before, others = open_files(), readers()
    limits = PATIENT if where == "in the terms" else HURRY
    with Client(**sandbox.options(sandbox.wallet(USDC="1"), **limits)) as client:
        assert end_of(lambda: buy(client, url)) == ENDS[where]
        assert hung_up.wait(60)
    until("no thread reads the body", lambda: readers() <= others)
    until("all sockets close", lambda: open_files() <= before)


@pytest.mark.parametrize("silent", [REFUSAL], indirect=True)
@pytest.mark.parametrize("buy", [by_client, by_requests])
def test_closes_after_the_threads_that_read_the_rest_of_a_refusal(
    buy: Callable[[Client, str], str],
    silent: tuple[str, str, threading.Event],
    sandbox: Sandbox,
) -> None:
    """A thread that reads from a socket that another thread closes may wait for ever."""
    others = readers()
    with Client(**sandbox.options(sandbox.wallet(USDC="1"), **HURRY)) as client:
        assert end_of(lambda: buy(client, silent[1])) == "payment_rejected"
        until("a thread reads the rest", lambda: readers() > others)
    assert readers() <= others


@pytest.mark.parametrize("silent", [REFUSAL], indirect=True)
def test_closes_a_clients_own_httpx_after_the_thread_that_reads_the_rest_of_a_refusal(
    silent: tuple[str, str, threading.Event], sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    others, is_seen = readers(), Signal()

    def until_seen(dispose: Any, hurry: Signal | None = None) -> Steps[None]:
        ends = [] if hurry is None else [hurry, is_seen]
        return bounded(60_000, TimeoutError, ends, dispose)

    monkeypatch.setattr(replies, "_quickly", until_seen)
    with Client(**sandbox.options(sandbox.wallet(USDC="1"), **HURRY)) as client:
        with httpx.Client(transport=client.transport(), timeout=60) as http:
            assert end_of(lambda: http.get(silent[1]).text) == "payment_rejected"
            until("a thread reads the rest", lambda: readers() > others)
            threads.enter(lambda: is_seen.abort(TimeoutError()))
        assert readers() <= others


@pytest.mark.parametrize("silent", [REFUSAL], indirect=True)
@pytest.mark.parametrize("inner", [True, False])
def test_closes_in_time_when_a_socket_of_its_own_kind_brings_a_refusal(
    inner: bool,
    silent: tuple[str, str, threading.Event],
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """urllib3 has such sockets above a plain one, for TLS within TLS and for pyOpenSSL."""
    others = readers()

    def above(raw: Any) -> Any:
        return SimpleNamespace(**({"socket": below(raw)} if inner else {}))

    def close() -> None:
        client.close()
        is_closed.set()

    below = requests_replies.socket_of
    client, is_closed = (
        Client(**sandbox.options(sandbox.wallet(USDC="1"), **HURRY)),
        threading.Event(),
    )
    assert end_of(lambda: by_requests(client, silent[1])) == "payment_rejected"
    until("a thread reads the rest", lambda: readers() > others)
    monkeypatch.setattr(requests_replies, "socket_of", above)
    if not inner:
        monkeypatch.setattr(replies, "QUICK_SECONDS", 1)
    threading.Thread(target=close, daemon=True).start()
    assert is_closed.wait(60)
    if inner:
        assert readers() <= others


@pytest.mark.parametrize("silent", [REFUSAL], indirect=True)
def test_leaves_no_thread_behind_when_threads_close_a_client_at_once(
    silent: tuple[str, str, threading.Event], sandbox: Sandbox
) -> None:
    client, others = Client(**sandbox.options(sandbox.wallet(USDC="1"), **HURRY)), readers()
    assert end_of(lambda: by_client(client, silent[1])) == "payment_rejected"
    until("a thread reads the rest", lambda: readers() > others)
    with ThreadPoolExecutor(4) as pool:
        closes = [pool.submit(client.close) for _ in range(4)]
    for close in closes:
        close.result()
    assert readers() <= others


@pytest.mark.parametrize("silent", [REFUSAL], indirect=True)
def test_leaves_no_thread_behind_when_a_call_ends_while_its_client_closes(
    silent: tuple[str, str, threading.Event],
    sandbox: Sandbox,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, others = Client(**sandbox.options(sandbox.wallet(USDC="1"), **HURRY)), readers()
    cut, is_cutting, is_left = BlockingReply._cut, threading.Event(), threading.Event()

    def cut_late(self: BlockingReply, closing: Any) -> None:
        is_cutting.set()
        is_left.wait(60)
        cut(self, closing)

    assert end_of(lambda: by_client(client, silent[1])) == "payment_rejected"
    until("a thread reads the rest", lambda: readers() > others)
    monkeypatch.setattr(BlockingReply, "_cut", cut_late)
    with ThreadPoolExecutor(1) as pool:
        with client.stream("GET", make_seller(lambda _: Reply()).url):
            closing = pool.submit(client.close)
            assert is_cutting.wait(60)
        is_left.set()
        closing.result()
    assert readers() <= others


@pytest.mark.parametrize("silent", [REFUSAL], indirect=True)
def test_leaves_no_thread_behind_when_a_closed_client_gets_a_refusal(
    silent: tuple[str, str, threading.Event], sandbox: Sandbox
) -> None:
    client, others = Client(**sandbox.options(sandbox.wallet(USDC="1"), **HURRY)), readers()
    client.on("payment.sent", lambda _: client.close())
    assert end_of(lambda: by_client(client, silent[1])) == "payment_rejected"
    assert readers() <= others


@pytest.mark.parametrize("silent", list(ENDS), indirect=True)
async def test_leaves_no_task_and_no_socket_behind_when_a_402_falls_silent(
    silent: tuple[str, str, threading.Event], sandbox: Sandbox
) -> None:
    where, url, hung_up = silent
    limits = PATIENT if where == "in the terms" else HURRY
    async with AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"), **limits)) as client:
        try:
            end = (await client.get(url, timeout=None)).text
        except ExactChangeError as error:
            end = error.code
        assert end == ENDS[where]
        loop = asyncio.get_running_loop()
        assert await loop.run_in_executor(None, hung_up.wait, 60)
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    _, left = await asyncio.wait(tasks, timeout=60) if tasks else (set(), set())
    assert not left
