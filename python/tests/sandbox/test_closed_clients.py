"""A closed client that meets a 402: an equal call may have paid, and no journal is read."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import Any, Callable

import httpx
import pytest
import requests

from exact_change import AsyncClient, ExactChangeError, _payer

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import failure_of
from ..seller import Answer, Reply, Seen, offer, terms

ONE = httpx.Limits(max_connections=1)


def answering_no_payment(sandbox: Sandbox) -> Answer:
    """Returns the answers of a seller that loses payments, and has a free page."""

    def answer(seen: Seen) -> Reply | None:
        if seen.is_paid:
            return None
        return Reply() if seen.path == "/free" else terms(offer(sandbox))

    return answer


@pytest.mark.parametrize("kind", ["httpx", "requests"])
def test_says_that_funds_are_uncertain_and_frees_its_connection(
    kind: str, make_payer: MakePayer, make_seller: MakeSeller, sandbox: Sandbox
) -> None:
    seller, client = make_seller(answering_no_payment(sandbox)), make_payer(USDC="1").client
    session = requests.Session()
    session.mount("http://", client.adapter())
    get: Callable[[str], Any] = functools.partial(session.get, timeout=60)
    with httpx.Client(transport=client.transport(limits=ONE), timeout=60) as http:
        if kind == "httpx":
            get = http.get
        failure_of(lambda: get(seller.url), "payment_uncertain")
        client.close()
        error = failure_of(lambda: get(seller.url), "client_closed")
        assert (error.funds, error.retry) == ("uncertain", "never")
        assert get(f"{seller.url}/free").status_code == 200


async def test_says_that_funds_are_uncertain_on_an_event_loop(
    make_seller: MakeSeller, sandbox: Sandbox
) -> None:
    seller = make_seller(answering_no_payment(sandbox))
    client = AsyncClient(**sandbox.options(sandbox.wallet(USDC="1")))
    async with httpx.AsyncClient(transport=client.transport(limits=ONE), timeout=60) as http:
        with pytest.raises(ExactChangeError):
            await http.get(seller.url)
        await client.aclose()
        with pytest.raises(ExactChangeError) as closed:
            await http.get(seller.url)
        assert (closed.value.code, closed.value.funds) == ("client_closed", "uncertain")
        assert (await http.get(f"{seller.url}/free")).status_code == 200


def test_says_whether_funds_are_uncertain_in_each_method(make_payer: MakePayer) -> None:
    client, url = make_payer().client, "https://seller.example"
    client.close()
    methods = (lambda: client.get(url), client.resume, lambda: client.plan(url), client.spent)
    found = [failure_of(method, "client_closed").funds for method in methods]
    assert found == ["uncertain", "uncertain", "untouched", "untouched"]


async def test_says_whether_funds_are_uncertain_in_each_method_on_an_event_loop(
    sandbox: Sandbox,
) -> None:
    client, url = AsyncClient(**sandbox.options(sandbox.wallet())), "https://seller.example"
    await client.aclose()
    found: list[str] = []
    for method in (lambda: client.get(url), client.resume, lambda: client.plan(url), client.spent):
        with pytest.raises(ExactChangeError, match="closed") as closed:
            await method()
        found.append(closed.value.funds)
    assert found == ["uncertain", "uncertain", "untouched", "untouched"]


async def test_frees_the_connection_of_a_402_if_it_is_closed_while_the_library_loads(
    make_seller: MakeSeller, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load() -> None:
        is_loading.set()
        is_closed.wait(60)

    is_loading, is_closed = threading.Event(), threading.Event()
    monkeypatch.setattr(_payer, "_is_loaded", False)
    monkeypatch.setattr(_payer, "_load", load)
    seller = make_seller(answering_no_payment(sandbox))
    client = AsyncClient(**sandbox.options(sandbox.wallet(USDC="1")))
    async with httpx.AsyncClient(transport=client.transport(limits=ONE), timeout=60) as http:
        call = asyncio.ensure_future(http.get(seller.url))
        await asyncio.get_running_loop().run_in_executor(None, is_loading.wait, 60)
        await client.aclose()
        is_closed.set()
        with pytest.raises(ExactChangeError) as closed:
            await call
        assert (closed.value.code, closed.value.funds) == ("client_closed", "uncertain")
        assert (await http.get(f"{seller.url}/free")).status_code == 200
