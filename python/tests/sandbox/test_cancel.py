"""Cancelled tasks and the outcome of their payments."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from exact_change import AsyncClient, Event, ExactChangeError, file_journal
from exact_change._kernel.steps import call, sleep
from exact_change._kernel.task import Steps
from exact_change._payments import present
from exact_change._payments.journal_timeouts import TimedJournal
from exact_change._payments.saving import save_attempt

from ..conftest import MakeSeller
from ..node import Sandbox
from ..payer import PRICE
from ..seller import Reply, Seen, offer, selling

JSON = {"content-type": "application/json"}


def payment_headers(seen: Seen) -> dict[str, str]:
    return {name: value for name, value in seen.headers.items() if "payment" in name}


async def test_pays_and_holds_nothing_when_a_task_is_cancelled_before_the_signature(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    wallet = sandbox.wallet(USDC="1")
    may_answer = threading.Event()
    seller = make_seller(lambda seen: Reply(402) if may_answer.wait(60) else None)
    async with AsyncClient(**sandbox.options(wallet)) as client:
        task = asyncio.ensure_future(client.get(seller.url))
        while not seller.seen:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_answer.set()
        assert (await client.spent())[0].used == "0"
        assert await client.receipts() == []


@pytest.mark.parametrize("way", ["cancel", "wait_for"])
async def test_monitors_the_payment_and_never_pays_twice_when_a_paying_task_is_cancelled(
    way: str, sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    wallet = sandbox.wallet(USDC="1")
    served, may_answer = threading.Event(), threading.Event()

    def forward(seen: Seen) -> Reply:
        answer = httpx.get(f"{sandbox.api_url}/usdc", headers=payment_headers(seen))
        if seen.is_paid and not may_answer.is_set():
            served.set()
            may_answer.wait(60)
        headers = {name: text for name, text in answer.headers.items() if "payment" in name}
        return Reply(answer.status_code, headers, answer.content)

    seller = make_seller(forward)
    events: list[Any] = []
    async with AsyncClient(**sandbox.options(wallet)) as client:
        client.on("*", lambda event: events.append(event.type))
        task = asyncio.ensure_future(client.get(seller.url))
        while not served.is_set():
            await asyncio.sleep(0.01)
        if way == "cancel":
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(task, 0.05)
        (receipt,) = await client.receipts()
        assert receipt.state in ("uncertain", "pending", "settled")
        may_answer.set()
        while "payment.settled" not in events:
            await asyncio.sleep(0.01)
        # The seller was paid for an answer that reached no caller, so a repeat must not buy again.
        with pytest.raises(ExactChangeError) as spent:
            await client.get(seller.url)
        assert (spent.value.code, spent.value.funds) == ("already_spent", "spent")
        assert events.count("payment.signed") == 1
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - PRICE


async def test_raises_already_spent_when_the_task_was_cancelled_as_its_answer_came(
    sandbox: Sandbox,
) -> None:
    wallet = sandbox.wallet(USDC="1")
    signed: list[Any] = []
    settled = asyncio.Event()
    url = f"{sandbox.api_url}/usdc"
    async with AsyncClient(**sandbox.options(wallet)) as client:
        task = asyncio.ensure_future(client.get(url))
        client.on("payment.signed", signed.append)
        client.on("payment.settled", lambda _: settled.set())
        client.on("payment.answered", lambda _: void(task.cancel()))
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(settled.wait(), 60)
        with pytest.raises(ExactChangeError) as spent:
            await client.get(url)
        assert (spent.value.code, len(signed)) == ("already_spent", 1)
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - PRICE


async def test_raises_already_spent_when_the_task_was_cancelled_as_its_answer_was_recorded(
    sandbox: Sandbox, make_seller: MakeSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer has no body, so it is delivered with its headers."""
    wallet = sandbox.wallet(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    tasks: list[asyncio.Future[httpx.Response]] = []
    signed: list[Any] = []
    settled = asyncio.Event()

    def cancel_and_save(*args: Any) -> Steps[None]:
        if tasks:
            tasks.pop().cancel()
            yield from sleep(50)
        yield from save_attempt(*args)

    async with AsyncClient(**sandbox.options(wallet)) as client:
        client.on("payment.signed", signed.append)
        client.on("payment.settled", lambda _: settled.set())
        monkeypatch.setattr(present, "save_attempt", cancel_and_save)
        tasks.append(asyncio.ensure_future(client.head(seller.url)))
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        await asyncio.wait_for(settled.wait(), 60)
        with pytest.raises(ExactChangeError) as spent:
            await client.head(seller.url)
        assert (spent.value.code, len(signed)) == ("already_spent", 1)


async def test_sends_and_doubts_nothing_when_a_task_is_cancelled_as_its_signature_is_recorded(
    sandbox: Sandbox, make_seller: MakeSeller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = TimedJournal.put

    def slow(self: TimedJournal, attempt: Any, *args: Any) -> Steps[None]:
        yield from put(self, attempt, *args)
        if attempt["state"] == "signed" and not is_recorded.is_set():
            is_recorded.set()
            yield from call(may_go_on.wait)

    is_recorded, may_go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(TimedJournal, "put", slow)
    seller = make_seller(selling(sandbox, offer(sandbox)))
    events: list[str] = []
    wallet, journal = sandbox.wallet(USDC="1"), file_journal(tmp_path / "journal")
    async with AsyncClient(**sandbox.options(wallet, journal=journal)) as client:
        client.on("*", lambda event: events.append(event.type))
        task = asyncio.ensure_future(client.get(seller.url))
        while not is_recorded.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_go_on.set()
        while "payment.signed" not in events:
            await asyncio.sleep(0.01)
        (receipt,) = await client.receipts()
    assert (receipt.state, seller.paid) == ("pending", [])
    assert not {"payment.sent", "payment.uncertain"} & set(events)


def void(_: object) -> None:
    """Drops a value."""


async def test_frees_the_connection_when_a_task_is_cancelled_while_code_loads(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_load = threading.Event(), threading.Event()

    def load() -> None:
        began.set()
        may_load.wait(60)

    monkeypatch.setattr("exact_change._payer._is_loaded", False)
    monkeypatch.setattr("exact_change._payer._load", load)
    one_connection = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=1))
    wallet = sandbox.wallet(USDC="1")
    async with AsyncClient(**sandbox.options(wallet), http_transport=one_connection) as client:
        url = f"{sandbox.api_url}/usdc"
        task = asyncio.ensure_future(client.get(url))
        while not began.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_load.set()
        assert (await client.get(url, timeout=60)).status_code == 200
        assert len(await client.receipts()) == 1


async def test_frees_the_connection_when_a_task_is_cancelled_as_the_paid_answer_comes(
    sandbox: Sandbox,
) -> None:
    tasks: list[asyncio.Future[httpx.Response]] = []

    class Cancelling(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            answer = await super().handle_async_request(request)
            if "payment-signature" in request.headers and tasks:
                tasks.pop().cancel()
            return answer

    one_connection = Cancelling(limits=httpx.Limits(max_connections=1))
    async with AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"))) as client:
        async with httpx.AsyncClient(transport=client.transport(one_connection)) as http:
            tasks.append(asyncio.ensure_future(http.get(f"{sandbox.api_url}/usdc")))
            with pytest.raises(asyncio.CancelledError):
                await tasks[0]
            other = await http.get(f"{sandbox.api_url}/usdc?other", timeout=60)
            assert other.status_code == 200


async def test_swaps_once_when_the_call_that_swaps_is_cancelled_and_payments_land_meanwhile(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    """The next call finishes the swap, and reads a balance that lacks payments in flight."""
    sends: list[Seen] = []
    given_up, all_landed, may_answer = (threading.Event() for _ in range(3))
    landed = threading.Semaphore(0)

    def node(seen: Seen) -> Reply:
        if b'"sendTransaction"' in seen.body:
            sends.append(seen)
            (given_up if len(sends) == 1 else all_landed).wait(60)
        answer = httpx.post(sandbox.rpc_url, content=seen.body, headers=JSON)
        return Reply(answer.status_code, JSON, answer.content)

    def sell(seen: Seen) -> Reply | None:
        answer = selling(sandbox, offer(sandbox))(seen)
        if seen.is_paid and seen.path != "/next":
            landed.release()
            may_answer.wait(60)
        return answer

    rpc_url, url = make_seller(node).url, make_seller(sell).url
    wallet = sandbox.wallet(SOL="0.5")
    swaps: list[Any] = []
    loop, checked = asyncio.get_running_loop(), 0
    later: list[asyncio.Future[httpx.Response]] = []
    async with AsyncClient(**sandbox.options(wallet, auto_swap=True, rpc_url=rpc_url)) as client:
        await client.warm()
        calls = [asyncio.ensure_future(client.get(f"{url}/first"))]

        def note_swap(event: Event) -> None:
            swaps.append(event)
            if len(swaps) == 1:
                later.extend(asyncio.ensure_future(client.get(f"{url}/{at}")) for at in range(3))

        def note_check(_: Event) -> None:
            nonlocal checked
            checked += 1
            # The next call waits for the swap of the first.
            if checked == 1:
                calls.append(asyncio.ensure_future(client.get(f"{url}/next")))
            # The later calls wait for the swap's lock of the mint, so they hold tokens first.
            if checked == 5:
                loop.call_soon(calls[0].cancel)
                loop.call_soon(given_up.set)

        client.on("swap.signed", note_swap)
        client.on("balance.checked", note_check)
        with pytest.raises(asyncio.CancelledError):
            await calls[0]
        for _ in range(3):
            assert await loop.run_in_executor(None, landed.acquire, True, 60)
        all_landed.set()
        assert (await asyncio.wait_for(calls[1], 60)).status_code == 200
        may_answer.set()
        assert [response.status_code for response in await asyncio.gather(*later)] == [200] * 3
    assert len(swaps) == 1
