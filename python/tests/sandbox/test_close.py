"""A client that is closed while its calls are under way."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from exact_change import AsyncClient, ExactChangeError

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import failure_of, until

HANGS = "getLatestBlockhash"


def test_calls_that_wait_for_a_node_say_that_the_client_was_closed(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer, url = make_payer(USDC="1"), f"{sandbox.api_url}/usdc"
    sandbox.call("node.fault", HANGS, {"kind": "hang"})
    before = sandbox.calls(HANGS)

    def fails(_: int) -> ExactChangeError:
        return failure_of(lambda: payer.client.get(url), "client_closed")

    with ThreadPoolExecutor(4) as pool:
        calls = pool.map(fails, range(4))
        payer.told("payment.required", 4)
        until("a node is asked", lambda: sandbox.calls(HANGS) > before)
        payer.client.close()
        assert {error.funds for error in calls} == {"untouched"}
    assert (payer.signed, payer.held()) == ([], 1_000_000)
    codes = [event.details["code"] for event in payer.events if event.type == "payment.failed"]
    assert codes == ["client_closed"] * 4


async def test_so_do_calls_of_a_loop(sandbox: Sandbox) -> None:
    client = AsyncClient(**sandbox.options(sandbox.wallet(USDC="1")))
    sandbox.call("node.fault", HANGS, {"kind": "hang"})
    before = sandbox.calls(HANGS)
    call = asyncio.ensure_future(client.get(f"{sandbox.api_url}/usdc"))
    while sandbox.calls(HANGS) == before:
        await asyncio.sleep(0.01)
    await client.aclose()
    with pytest.raises(ExactChangeError) as closed:
        await call
    assert (closed.value.code, closed.value.funds) == ("client_closed", "untouched")
