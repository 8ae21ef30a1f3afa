"""Calls and receipts after the event loop of their call closed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from exact_change import AsyncClient, Client

from ..buyer import buy
from ..node import Sandbox

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
    leaving.join(20)
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
        receipt = asyncio.run(client.settled(response, timeout=20))
    else:
        with Client(**options) as other:
            receipt = other.settled(response, timeout=20)
    assert receipt is not None and receipt.state == "settled"
    assert asyncio.run(client.settled(response)) == receipt
