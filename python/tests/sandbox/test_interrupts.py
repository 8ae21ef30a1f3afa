"""A thread that is interrupted between the end of a payment and the return of its call."""

from __future__ import annotations

import gc
import threading
from typing import Any, Callable, Iterator

import httpx
import pytest
import requests
from urllib3 import HTTPResponse

from exact_change._http.endings import Ending
from exact_change._journal.registry import wallet_of
from exact_change._kernel.hosts import ThreadHost, threads

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, buying, failure_of, until
from ..seller import MAINNET, offer, selling


@pytest.mark.parametrize(
    "owner, step", [(httpx.Cookies, "extract_cookies"), (httpx.Response, "read")]
)
def test_raises_already_spent_when_a_call_is_interrupted_after_its_answer_left_the_transport(
    owner: type,
    step: str,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once before httpx reads the body, and once after it has read the whole body."""
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    do_step = getattr(owner, step)

    def do_and_interrupt(*args: Any) -> None:
        do_step(*args)
        # The seller uses httpx too, in another thread.
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, do_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            payer.client.get(seller.url)
    failure_of(lambda: payer.client.get(seller.url), "already_spent")
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


@pytest.mark.parametrize("begins", ["never", "late"])
@pytest.mark.parametrize("kind", ["httpx", "requests"])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_raises_already_spent_when_a_call_is_interrupted_before_its_delivery_is_recorded(
    kind: str,
    begins: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    buy = buying(kind, payer.client, seller.url)
    read, enter = Ending.read, ThreadHost.enter
    begun: list[Callable[[], None]] = []

    def interrupt_and_enter(_: ThreadHost, work: Callable[[], None]) -> None:
        monkeypatch.setattr(ThreadHost, "enter", enter)
        begun.append(work)
        raise KeyboardInterrupt

    def interrupted_read(self: Ending) -> None:
        monkeypatch.setattr(ThreadHost, "enter", interrupt_and_enter)
        read(self)

    monkeypatch.setattr(Ending, "read", interrupted_read)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        buy()
    monkeypatch.setattr(Ending, "read", read)
    if begins == "late":
        enter(threads, begun.pop())
    failure_of(buy, "already_spent")
    # Its frames held the first answer, so no garbage collection reported the end.
    del interrupted
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


def test_raises_already_spent_when_requests_is_interrupted_while_it_reads(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    buy = buying("requests", payer.client, seller.url)
    stream = HTTPResponse.stream

    def stream_interrupted(*args: Any, **named: Any) -> Iterator[bytes]:
        yield from stream(*args, **named)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(HTTPResponse, "stream", stream_interrupted)
        with pytest.raises(KeyboardInterrupt) as interrupted:
            buy()
    failure_of(buy, "already_spent")
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)
    # Its frames held the first answer, so no garbage collection reported the end.
    del interrupted


@pytest.mark.parametrize(
    "kind, owner, step",
    [
        ("httpx", httpx.Cookies, "extract_cookies"),
        ("requests", requests.sessions, "extract_cookies_to_jar"),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_raises_already_spent_when_a_foreign_client_is_interrupted_before_it_reads(
    kind: str,
    owner: Any,
    step: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    own = httpx.Client(transport=payer.client.transport())
    buy = buying(kind, own if kind == "httpx" else payer.client, seller.url)

    def interrupt_main(*_: object) -> None:
        # The seller uses httpx too, in another thread.
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, interrupt_main)
        # No variable keeps the exception, because its frames hold the response.
        with pytest.raises(KeyboardInterrupt):
            buy()
    gc.collect()
    wallet = wallet_of(payer.wallet.address, MAINNET)
    until("the collection is recorded", lambda: not wallet.claims)
    failure_of(buy, "already_spent")
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)
    own.close()
