"""A client that is closed while its calls are under way."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from exact_change import AsyncClient, Client, Event, ExactChangeError, file_journal
from exact_change._kernel.steps import call
from exact_change._kernel.task import Steps
from exact_change._payments.journal_timeouts import TimedJournal

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import PRICE, failure_of, until

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


def test_a_loop_that_stands_still_delays_equal_calls_alone(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its task was cancelled while the journal was busy: nothing of it goes on by itself."""
    release = TimedJournal.release

    def slow(self: TimedJournal, *args: Any) -> Steps[None]:
        yield from call(is_over.wait)
        yield from release(self, *args)

    async def ask_for_ever(_: object) -> bool:
        await asyncio.sleep(60)
        return True

    monkeypatch.setattr(TimedJournal, "release", slow)
    wallet, is_over, loop = sandbox.wallet(USDC="1"), threading.Event(), asyncio.new_event_loop()
    url, journal = f"{sandbox.api_url}/usdc", file_journal(tmp_path / "journal")
    policy = {"approve": ask_for_ever}
    stopped = AsyncClient(**sandbox.options(wallet, journal=journal, policy=policy))
    options = sandbox.options(wallet, journal=journal, timeouts={"payment": 2_000})
    with pytest.raises(asyncio.TimeoutError):
        loop.run_until_complete(asyncio.wait_for(stopped.get(url), 1))
    with Client(**options) as other:
        assert other.get(f"{url}?another").status_code == 200
        waiting = failure_of(lambda: other.get(url), "timeout")
        assert (waiting.funds, waiting.retry) == ("uncertain", "same")
        assert waiting.details["step"] == "earlier_call"
    is_over.set()
    again = AsyncClient(**options)
    assert loop.run_until_complete(again.get(url)).status_code == 200
    loop.run_until_complete(again.aclose())
    loop.run_until_complete(stopped.aclose())
    loop.close()
    journal.close()
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 2 * PRICE


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_listener_may_close_the_client_whose_call_is_interrupted(
    make_payer: MakePayer, sandbox: Sandbox
) -> None:
    payer, is_closing = make_payer(USDC="1"), threading.Event()

    def close(_: Event) -> None:
        is_closing.set()
        is_interrupted.wait(20)
        payer.client.close()
        is_closed.set()

    def interrupt() -> None:
        is_closing.wait(20)
        os.kill(os.getpid(), signal.SIGINT)

    is_interrupted, is_closed = threading.Event(), threading.Event()
    payer.client.on("payment.signed", close)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        payer.client.get(f"{sandbox.api_url}/usdc")
    is_interrupted.set()
    assert is_closed.wait(20)
    with Client(**sandbox.options(payer.wallet)) as other:
        assert other.get(f"{sandbox.api_url}/usdc?another").status_code == 200
