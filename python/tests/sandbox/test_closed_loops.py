"""Calls and receipts after the event loop of their call closed."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import Any, Callable

import pytest

from exact_change import AsyncClient, Client, ExactChangeError
from exact_change._kernel.steps import sleep
from exact_change._kernel.task import Steps
from exact_change._payments import earlier

from ..buyer import buy
from ..conftest import MakeSeller
from ..node import Sandbox
from ..payer import until
from ..seller import BOUGHT, Reply, Seen, offer, selling, terms

# A loop that closes during a call leaves the connections of its client to garbage collection.
pytestmark = [
    pytest.mark.usefixtures("garbage"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_runs_no_further_step_of_a_call_that_is_collected_after_its_loop_closed(
    sandbox: Sandbox,
) -> None:
    """A step that goes on would monitor its payment forever and block all other calls."""
    options = sandbox.options(sandbox.wallet(USDC="1"))
    url = f"{sandbox.api_url}/usdc"

    def leave() -> None:
        loop = asyncio.new_event_loop()

        async def begin() -> Any:
            client = AsyncClient(**options)
            client.on("payment.sent", lambda _event: loop.stop())
            call = client.get(url)
            task = loop.create_task(call)
            return call, task

        call, task = loop.run_until_complete(begin())
        loop.run_forever()
        loop.close()
        assert not task.done()
        # Garbage collection closes the coroutine the same way.
        call.close()

    leaving = threading.Thread(target=leave, daemon=True)
    leaving.start()
    leaving.join(60)
    assert not leaving.is_alive()
    with Client(**options) as client:
        assert buy(client, url) in ("answered", "spent")


@pytest.mark.parametrize("kind", ["loop", "thread"])
def test_waits_for_the_chain_after_the_loop_of_the_payment_closed(
    kind: str, sandbox: Sandbox
) -> None:
    options = sandbox.options(sandbox.wallet(USDC="1"))
    client = AsyncClient(**options)
    response = asyncio.run(client.get(f"{sandbox.api_url}/usdc"))
    if kind == "loop":
        receipt = asyncio.run(client.settled(response, timeout=60))
    else:
        with Client(**options) as other:
            receipt = other.settled(response, timeout=60)
    assert receipt is not None and receipt.state == "settled"
    assert asyncio.run(client.settled(response)) == receipt


@pytest.mark.parametrize("kind", ["settled", "open"])
def test_keeps_no_closed_loop_that_followed_a_payment(
    kind: str, sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    # The seller of an open payment never settles it.
    free, asks = Reply(), terms(offer(sandbox))
    seller = make_seller(
        lambda seen: free if seen.path == "/free" else BOUGHT if seen.is_paid else asks
    )
    url = f"{sandbox.api_url}/usdc" if kind == "settled" else seller.url
    client = AsyncClient(**sandbox.options(sandbox.wallet(USDC="1")))
    loops: list[weakref.ref[Any]] = []

    async def use(work: Callable[[], Any]) -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await work()

    async def decide() -> None:
        while not await client.receipts(state="settled"):
            await client.resume()

    asyncio.run(use(lambda: client.get(url)))
    asyncio.run(use(decide if kind == "settled" else client.resume))
    asyncio.run(use(client.resume))
    # The next request drops the connections of the closed loops to sellers.
    asyncio.run(client.get(f"{seller.url}/free"))

    def are_gone() -> bool:
        # A thread may hold its last answer for a moment.
        gc.collect()
        return all(loop() is None for loop in loops[:2])

    until("the earlier loops are collected", are_gone)


def spent_url(sandbox: Sandbox, make_seller: MakeSeller) -> str:
    """Returns the URL of a seller that takes each payment, and answers only at ``/next``."""
    sell = selling(sandbox, offer(sandbox))

    def answer(seen: Seen) -> Reply | None:
        sold = sell(seen)
        return None if seen.is_paid and seen.path != "/next" else sold

    return make_seller(answer).url


def in_time(work: Callable[[], object]) -> None:
    """Runs work in a thread that the test leaves behind if it hangs."""
    errors: list[BaseException] = []

    def try_() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    working = threading.Thread(target=try_, daemon=True)
    working.start()
    working.join(60)
    assert not working.is_alive() and not errors, errors


async def hear_of_a_payment(client: AsyncClient, url: str) -> None:
    """Pays for a lost answer, and hears that the payment is spent."""
    with pytest.raises(ExactChangeError) as lost:
        await client.post(url)
    assert lost.value.code == "payment_uncertain"
    with pytest.raises(ExactChangeError) as spent:
        await client.post(url)
    assert spent.value.code == "already_spent"


def test_serves_a_call_that_blocks_the_event_loop_of_a_call_that_has_just_ended(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    url, options = spent_url(sandbox, make_seller), sandbox.options(sandbox.wallet(USDC="1"))

    async def block() -> None:
        async with AsyncClient(**options) as client:
            other = Client(**options)
            await hear_of_a_payment(client, url)
            assert other.get(f"{url}/next").text == "bought"
            await hear_of_a_payment(client, f"{url}/other")
            other.close()

    in_time(lambda: asyncio.run(block()))


def test_serves_a_call_after_the_event_loop_stopped_while_it_told_an_earlier_call(
    sandbox: Sandbox, make_seller: MakeSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, options = spent_url(sandbox, make_seller), sandbox.options(sandbox.wallet(USDC="1"))
    loop = asyncio.new_event_loop()

    def stop_and_sleep(ms: float) -> Steps[None]:
        # The loop ends after this round, before its timers are due.
        loop.stop()
        return sleep(ms)

    monkeypatch.setattr(earlier, "sleep", stop_and_sleep)

    def go_on() -> None:
        client = AsyncClient(**options)
        telling = loop.create_task(hear_of_a_payment(client, url))
        loop.run_forever()
        with Client(**options) as other:
            assert other.get(f"{url}/next").text == "bought"
        loop.run_until_complete(telling)
        loop.run_until_complete(client.aclose())

    in_time(go_on)
    loop.close()
