"""A caller that gives up during the delivery of its answer; its next call is the same purchase."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any, Callable, Iterator

import httpx
import pytest

from exact_change import AsyncClient, Event, ExactChangeError
from exact_change._journal.along import AlongMemory
from exact_change._journal.types import ALONE, Along, Attempt
from exact_change._kernel.steps import sleep
from exact_change._kernel.task import Steps

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, buying, failure_of
from ..seller import BOUGHT, Reply, offer, selling

GiveUp = Callable[[], object]


@pytest.fixture
def at_the_end(monkeypatch: pytest.MonkeyPatch) -> list[GiveUp]:
    """Functions to call while the journal records that an answer was read to its end."""
    put = AlongMemory.put
    actions: list[GiveUp] = []

    def act_and_put(self: AlongMemory, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
        if along.drop and actions:
            actions.pop()()
            yield from sleep(50)
        yield from put(self, attempt, along)

    monkeypatch.setattr(AlongMemory, "put", act_and_put)
    return actions


@pytest.fixture
def interrupt() -> Iterator[GiveUp]:
    """Interrupts the main thread, as Ctrl+C does."""

    def raise_(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, raise_)
    yield lambda: os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


async def test_raises_already_spent_when_a_task_is_cancelled_as_its_delivery_is_recorded(
    sandbox: Sandbox, make_seller: MakeSeller, at_the_end: list[GiveUp]
) -> None:
    wallet = sandbox.wallet(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    async with AsyncClient(**sandbox.options(wallet)) as client:
        task = asyncio.ensure_future(client.post(seller.url))
        at_the_end.append(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ExactChangeError) as spent:
            await client.post(seller.url)
        assert (spent.value.code, len(seller.paid)) == ("already_spent", 1)
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - PRICE


class Closing(httpx.AsyncHTTPTransport):
    """A transport that acts while it closes an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.actions: list[GiveUp] = []
        # The answers that are not closed.
        self.open: set[httpx.Response] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        self.open.add(response)
        stream: Any = response.stream
        close = stream.aclose

        async def act_and_close() -> None:
            if self.actions:
                self.actions.pop()()
                await asyncio.sleep(0)
            await close()
            self.open.discard(response)

        stream.aclose = act_and_close
        return response


async def test_raises_already_spent_when_a_task_is_cancelled_as_its_connection_is_freed(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    transport = Closing()
    seller = make_seller(selling(sandbox, offer(sandbox)))
    options = sandbox.options(sandbox.wallet(USDC="1"), http_transport=transport)
    async with AsyncClient(**options) as client:
        task = asyncio.ensure_future(client.post(seller.url))
        client.on("payment.answered", lambda _: transport.actions.append(task.cancel))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not transport.open
        with pytest.raises(ExactChangeError) as spent:
            await client.post(seller.url)
        assert (spent.value.code, len(seller.paid)) == ("already_spent", 1)


@pytest.mark.parametrize("kind", ["httpx", "requests"])
def test_raises_already_spent_when_a_call_is_interrupted_as_its_delivery_is_recorded(
    kind: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    at_the_end: list[GiveUp],
    interrupt: GiveUp,
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    buy = buying(kind, payer.client, seller.url)
    at_the_end.append(interrupt)
    with pytest.raises(KeyboardInterrupt):
        buy()
    failure_of(buy, "already_spent")
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


async def test_raises_already_spent_when_a_task_is_cancelled_after_its_answer_was_read(
    sandbox: Sandbox, make_seller: MakeSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    seller = make_seller(selling(sandbox, offer(sandbox)))
    read = httpx.Response.aread

    async def read_and_cancel(self: httpx.Response) -> bytes:
        body = await read(self)
        task.cancel()
        await asyncio.sleep(0)
        return body

    async with AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"))) as client:
        with monkeypatch.context() as patch:
            patch.setattr(httpx.Response, "aread", read_and_cancel)
            task = asyncio.ensure_future(client.get(seller.url))
            with pytest.raises(asyncio.CancelledError):
                await task
        with pytest.raises(ExactChangeError) as spent:
            await client.get(seller.url)
        assert (spent.value.code, len(seller.paid)) == ("already_spent", 1)


@pytest.mark.parametrize("reply", [BOUGHT, Reply(body=b"")], ids=["body", "none"])
@pytest.mark.parametrize("is_ahead", [False, True])
@pytest.mark.parametrize("at", ["payment.signed", "payment.sent", "payment.answered"])
async def test_signs_once_when_a_task_is_cancelled_and_repeated_at_once(
    at: Any, is_ahead: bool, reply: Reply, sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    seller = make_seller(selling(sandbox, offer(sandbox), reply))
    wallet = sandbox.wallet(USDC="1")
    options = {"presign": [seller.url]} if is_ahead else {}
    async with AsyncClient(**sandbox.options(wallet, **options)) as client:
        # The first call teaches the client the terms.
        await client.get(seller.url)
        signed: list[Event] = []
        client.on("payment.signed", signed.append)
        task = asyncio.ensure_future(client.get(seller.url))
        stop = client.on(at, lambda _: void(task.cancel()))
        with pytest.raises(asyncio.CancelledError):
            await task
        stop()
        try:
            assert (await client.get(seller.url)).status_code == 200
        except ExactChangeError as error:
            assert error.code == "already_spent"
        assert len(signed) == 1


@pytest.mark.parametrize("reply", [BOUGHT, Reply(body=b"")], ids=["body", "none"])
@pytest.mark.parametrize("kind", ["httpx", "requests"])
@pytest.mark.parametrize("at", ["payment.signed", "payment.sent", "payment.answered"])
def test_signs_once_when_a_call_is_interrupted_and_repeated_at_once(
    at: Any,
    kind: str,
    reply: Reply,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    interrupt: GiveUp,
) -> None:
    seller = make_seller(selling(sandbox, offer(sandbox), reply))
    payer = make_payer(USDC="1", presign=[seller.url])
    buy = buying(kind, payer.client, seller.url)
    buy()
    stop = payer.client.on(at, lambda _: void(interrupt()))
    with pytest.raises(KeyboardInterrupt):
        buy()
    stop()
    with pytest.raises(ExactChangeError) as again:
        buy()
    # The code depends on how far the call came before the interrupt.
    assert again.value.code in ("already_spent", "payment_uncertain")
    assert payer.signed == ["payment"] * 2


def void(_: object) -> None:
    """Drops a value."""
