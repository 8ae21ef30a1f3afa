"""A task that is cancelled, and what becomes of its money."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
import pytest

from exact_change import AsyncClient, ExactChangeError
from exact_change._kernel.steps import sleep
from exact_change._kernel.task import Steps
from exact_change._payments import present
from exact_change._payments.saving import save_attempt

from ..conftest import MakeSeller
from ..node import Sandbox
from ..payer import PRICE
from ..seller import Reply, Seen, offer, selling


def paid(seen: Seen) -> dict[str, str]:
    return {name: value for name, value in seen.headers.items() if "payment" in name}


async def test_before_anything_is_signed_nothing_is_paid_or_held(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    wallet = sandbox.wallet(USDC="1")
    held = threading.Event()
    seller = make_seller(lambda seen: Reply(402) if held.wait(20) else None)
    async with AsyncClient(**sandbox.options(wallet)) as client:
        task = asyncio.ensure_future(client.get(seller.url))
        while not seller.seen:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.set()
        assert (await client.spent())[0].used == "0"
        assert await client.receipts() == []


@pytest.mark.parametrize("way", ["cancel", "wait_for"])
async def test_while_it_is_paid_the_payment_is_followed_and_never_made_twice(
    way: str, sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    wallet = sandbox.wallet(USDC="1")
    served, may_answer = threading.Event(), threading.Event()

    def forward(seen: Seen) -> Reply:
        answer = httpx.get(f"{sandbox.api_url}/usdc", headers=paid(seen))
        if seen.is_paid and not may_answer.is_set():
            served.set()
            may_answer.wait(30)
        kept = {name: one for name, one in answer.headers.items() if "payment" in name}
        return Reply(answer.status_code, kept, answer.content)

    seller = make_seller(forward)
    told: list[Any] = []
    async with AsyncClient(**sandbox.options(wallet)) as client:
        client.on("*", lambda event: told.append(event.type))
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
        while "payment.settled" not in told:
            await asyncio.sleep(0.01)
        # The seller was paid for an answer that reached no caller: its repetition is no purchase.
        with pytest.raises(ExactChangeError) as spent:
            await client.get(seller.url)
        assert (spent.value.code, spent.value.funds) == ("already_spent", "spent")
        assert told.count("payment.signed") == 1
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - PRICE


async def test_an_answer_that_came_as_its_task_was_cancelled_is_lost(sandbox: Sandbox) -> None:
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
        await asyncio.wait_for(settled.wait(), 30)
        with pytest.raises(ExactChangeError) as spent:
            await client.get(url)
        assert (spent.value.code, len(signed)) == ("already_spent", 1)
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - PRICE


async def test_an_answer_that_is_noted_as_its_task_is_cancelled_is_lost(
    sandbox: Sandbox, make_seller: MakeSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without a body, which is delivered with its headers."""
    wallet = sandbox.wallet(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    tasks: list[asyncio.Future[httpx.Response]] = []
    signed: list[Any] = []
    settled = asyncio.Event()

    def cancel_and_save(*given: Any) -> Steps[None]:
        if tasks:
            tasks.pop().cancel()
            yield from sleep(50)
        yield from save_attempt(*given)

    async with AsyncClient(**sandbox.options(wallet)) as client:
        client.on("payment.signed", signed.append)
        client.on("payment.settled", lambda _: settled.set())
        monkeypatch.setattr(present, "save_attempt", cancel_and_save)
        tasks.append(asyncio.ensure_future(client.head(seller.url)))
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        await asyncio.wait_for(settled.wait(), 30)
        with pytest.raises(ExactChangeError) as spent:
            await client.head(seller.url)
        assert (spent.value.code, len(signed)) == ("already_spent", 1)


def void(_: object) -> None:
    """Drops a value."""


async def test_while_code_is_loaded_the_connection_is_free_again(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_load = threading.Event(), threading.Event()

    def load() -> None:
        began.set()
        may_load.wait(20)

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
        assert (await client.get(url, timeout=10)).status_code == 200
        assert len(await client.receipts()) == 1
