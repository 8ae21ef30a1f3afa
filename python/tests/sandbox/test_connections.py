"""The connections of refused payments: a pool with one connection serves the next call."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import threading
from typing import Any, Callable, Mapping

import httpx
import pytest
import requests

from exact_change import AsyncClient, ExactChangeError
from exact_change._kernel.steps import await_
from exact_change._kernel.task import Steps
from exact_change._payments import engine, present
from exact_change._payments.reconcile.monitor import decide_payment

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import hurry
from ..seller import BOUGHT, Answer, Reply, Seen, Seller, offer, selling, settle, terms

ONE = httpx.Limits(max_connections=1)
_WORD = {"success": False, "errorReason": "settlement_pending", "transaction": ""}
PENDING = {"PAYMENT-RESPONSE": base64.b64encode(json.dumps(_WORD).encode()).decode()}
Sell = Callable[[Sandbox, Seen], "Reply | None"]


def refuse(sandbox: Sandbox, _: Seen) -> Reply:
    return terms(offer(sandbox, amount="9000"))


def settle_and_refuse(sandbox: Sandbox, seen: Seen) -> Reply:
    settle(sandbox, seen, offer(sandbox))
    return refuse(sandbox, seen)


def settle_and_wait(sandbox: Sandbox, seen: Seen) -> Reply:
    settle(sandbox, seen, offer(sandbox))
    return Reply(402, PENDING)


def lose(*_: object) -> None:
    """Answers nothing."""


def sell(*_: object) -> Reply:
    return BOUGHT


RESIGN: Any = {"policy": {"resign": 1}}
AHEAD = "a payment ahead"
# Options of the client, answers to its payments in turn, and the ends of its calls.
CASES: dict[str, tuple[Mapping[str, Any], list[Sell], list[str]]] = {
    "one payment": ({}, [refuse], ["payment_rejected"]),
    "both payments": (RESIGN, [refuse, refuse], ["payment_rejected"]),
    "a payment without an answer again": (
        {},
        [lose, refuse],
        ["payment_uncertain", "payment_rejected"],
    ),
    "a settled payment twice": ({}, [settle_and_wait, refuse], ["payment_rejected"]),
    AHEAD: ({"presign": True}, [sell, refuse], ["", "payment_rejected"]),
    "a settled payment ahead": (
        {"presign": True},
        [sell, settle_and_refuse],
        ["", "already_spent"],
    ),
}


@pytest.fixture
def make_refusing(sandbox: Sandbox, make_seller: MakeSeller) -> Callable[[list[Sell]], Seller]:
    """Makes sellers that answer payments in turn, and sell at ``/next``."""

    def make(sales: list[Sell]) -> Seller:
        left, at_next = list(sales), selling(sandbox, offer(sandbox))

        def answer(seen: Seen) -> Reply | None:
            if seen.path == "/next":
                return at_next(seen)
            if seen.is_paid:
                return left.pop(0)(sandbox, seen)
            asks = terms(offer(sandbox))
            return asks._replace(headers={**asks.headers, "cache-control": "max-age=60"})

        return make_seller(answer)

    return make


@pytest.mark.parametrize("case", list(CASES))
def test_frees_the_connection_of_a_client_whose_seller_refused(
    case: str,
    make_refusing: Callable[[list[Sell]], Seller],
    make_payer: MakePayer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options, sales, ends = CASES[case]
    if case == AHEAD:
        hurry(monkeypatch)
    client, url = make_payer(USDC="1", **options).client, make_refusing(sales).url
    one = client.transport(httpx.HTTPTransport(limits=ONE))
    with httpx.Client(transport=one, timeout=60) as http:
        codes: list[str] = []
        for _ in ends:
            try:
                codes.append("" if http.get(url).text == "bought" else "?")
            except ExactChangeError as error:
                codes.append(error.code)
        assert codes == ends
        assert http.get(f"{url}/next").text == "bought"


@pytest.mark.parametrize("case", list(CASES))
async def test_frees_the_connection_of_a_client_on_an_event_loop_whose_seller_refused(
    case: str,
    make_refusing: Callable[[list[Sell]], Seller],
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options, sales, ends = CASES[case]
    if case == AHEAD:
        hurry(monkeypatch)
    url = make_refusing(sales).url
    async with AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"), **options)) as client:
        one = client.transport(httpx.AsyncHTTPTransport(limits=ONE))
        async with httpx.AsyncClient(transport=one, timeout=60) as http:
            codes: list[str] = []
            for _ in ends:
                try:
                    codes.append("" if (await http.get(url)).text == "bought" else "?")
                except ExactChangeError as error:
                    codes.append(error.code)
            assert codes == ends
            assert (await http.get(f"{url}/next")).text == "bought"


def pending(sandbox: Sandbox) -> Answer:
    """Returns an answer function that settles nothing, but says that it may, except ``/next``."""
    at_next = selling(sandbox, offer(sandbox))

    def answer(seen: Seen) -> Reply | None:
        if seen.path == "/next":
            return at_next(seen)
        return Reply(402, PENDING) if seen.is_paid else terms(offer(sandbox))

    return answer


def test_frees_the_connection_when_a_call_is_interrupted_while_the_chain_is_asked(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*args: Any) -> Any:
        monkeypatch.setattr(present, "decide_payment", decide_payment)
        os.kill(os.getpid(), signal.SIGINT)
        return decide_payment(*args)

    monkeypatch.setattr(present, "decide_payment", interrupt)
    url = make_seller(pending(sandbox)).url
    one = make_payer(USDC="1").client.transport(httpx.HTTPTransport(limits=ONE))
    with httpx.Client(transport=one, timeout=60) as http:
        with pytest.raises(KeyboardInterrupt):
            http.get(url)
        assert http.get(f"{url}/next").text == "bought"


async def test_frees_the_connection_when_a_task_is_cancelled_while_the_chain_is_asked(
    sandbox: Sandbox, make_seller: MakeSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_asked = asyncio.Event()

    def note(*args: Any) -> Any:
        is_asked.set()
        return decide_payment(*args)

    monkeypatch.setattr(present, "decide_payment", note)
    url = make_seller(pending(sandbox)).url
    async with AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"))) as client:
        one = client.transport(httpx.AsyncHTTPTransport(limits=ONE))
        async with httpx.AsyncClient(transport=one, timeout=60) as http:
            task = asyncio.ensure_future(http.get(url))
            await asyncio.wait_for(is_asked.wait(), 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await http.get(f"{url}/next")).text == "bought"


def test_gives_the_connection_of_a_long_refusal_back_to_a_pool_of_requests_that_blocks(
    make_refusing: Callable[[list[Sell]], Seller], make_payer: MakePayer
) -> None:
    def refuse_at_length(sandbox: Sandbox, seen: Seen) -> Reply:
        return refuse(sandbox, seen)._replace(body=b"no" * 100_000)

    url, bought = make_refusing([refuse_at_length]).url, threading.Event()
    one = {"pool_connections": 1, "pool_maxsize": 1, "pool_block": True}
    with requests.Session() as session:
        session.mount("http://", make_payer(USDC="1").client.adapter(**one))
        with pytest.raises(ExactChangeError) as refused:
            session.get(url, timeout=60)
        assert refused.value.code == "payment_rejected"

        def buy() -> None:
            if session.get(f"{url}/next", timeout=60).text == "bought":
                bought.set()

        # A pool of requests waits without limit.
        threading.Thread(target=buy, daemon=True).start()
        assert bought.wait(60)


async def test_closes_connections_only_after_the_first_of_two_closes_has_ended(
    sandbox: Sandbox, make_seller: MakeSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside them ends a call: no end may close what background work still reads."""
    client = AsyncClient(**sandbox.options(sandbox.wallet(USDC="1")))
    await client.get(make_seller(selling(sandbox, offer(sandbox))).url)
    (http,) = client._https.values()
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        begun.set()
        await may_end.wait()

    def released(*_: object) -> Steps[None]:
        yield from await_(wait)

    monkeypatch.setattr(engine, "claims_released", released)
    async with client.stream("GET", make_seller(lambda _: Reply()).url):
        closes = [asyncio.ensure_future(client.aclose()) for _ in range(2)]
        await begun.wait()
    await asyncio.wait(closes, timeout=0.1)
    assert ([close.done() for close in closes], http.is_closed) == ([False, False], False)
    may_end.set()
    await asyncio.gather(*closes)
    assert http.is_closed
