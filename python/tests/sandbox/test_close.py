"""A client that closes during its calls."""

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
from exact_change._kernel.fork import ForkLock
from exact_change._kernel.steps import call
from exact_change._kernel.task import Steps
from exact_change._payments.journal_timeouts import TimedJournal

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, failure_of, until
from ..seller import BOUGHT, Reply, Seen, offer, selling, terms

HANGING_METHOD, HISTORY_METHOD = "getLatestBlockhash", "getSignaturesForAddress"


def test_raises_client_closed_in_threads_that_wait_for_a_node(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer, url = make_payer(USDC="1"), f"{sandbox.api_url}/usdc"
    sandbox.call("node.fault", HANGING_METHOD, {"kind": "hang"})
    before = sandbox.calls(HANGING_METHOD)

    def fails(_: int) -> ExactChangeError:
        return failure_of(lambda: payer.client.get(url), "client_closed")

    with ThreadPoolExecutor(4) as pool:
        calls = pool.map(fails, range(4))
        payer.told("payment.required", 4)
        until("a node is asked", lambda: sandbox.calls(HANGING_METHOD) > before)
        payer.client.close()
        assert {error.funds for error in calls} == {"untouched"}
    assert (payer.signed, payer.held()) == ([], 1_000_000)
    codes = [event.details["code"] for event in payer.events if event.type == "payment.failed"]
    assert codes == ["client_closed"] * 4


async def test_raises_client_closed_in_a_task_that_waits_for_a_node(sandbox: Sandbox) -> None:
    client = AsyncClient(**sandbox.options(sandbox.wallet(USDC="1")))
    sandbox.call("node.fault", HANGING_METHOD, {"kind": "hang"})
    before = sandbox.calls(HANGING_METHOD)
    call = asyncio.ensure_future(client.get(f"{sandbox.api_url}/usdc"))
    while sandbox.calls(HANGING_METHOD) == before:
        await asyncio.sleep(0.01)
    await client.aclose()
    with pytest.raises(ExactChangeError) as closed:
        await call
    assert (closed.value.code, closed.value.funds) == ("client_closed", "untouched")


def test_signs_nothing_with_a_key_if_the_client_closes_while_the_journal_reserves(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reserve = TimedJournal.reserve

    def slow(self: TimedJournal, *args: Any, **options: Any) -> Steps[Any]:
        reserved = yield from reserve(self, *args, **options)
        is_reserved.set()
        yield from call(may_go_on.wait)
        return reserved

    is_reserved, may_go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(TimedJournal, "reserve", slow)
    seller = make_seller(selling(sandbox, offer(sandbox)))
    payer = make_payer(USDC="1", journal=file_journal(tmp_path / "journal"))
    context = payer.client._payer.thread_engine().context
    with ThreadPoolExecutor(2) as pool:
        buying = pool.submit(failure_of, lambda: payer.client.get(seller.url), "client_closed")
        assert is_reserved.wait(60)
        closing = pool.submit(payer.client.close)
        until("the client closes", lambda: context.closing.aborted)
        may_go_on.set()
        error = buying.result()
        closing.result()
    assert error.funds == "untouched"
    assert (payer.signed, seller.paid, payer.held()) == ([], [], 1_000_000)


def test_raises_client_closed_in_a_call_that_waits_for_its_signer(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    class Silent:
        def __init__(self, address: str) -> None:
            self.address = address

        def sign_message(self, message: bytes, intent: object) -> bytes:
            is_asked.set()
            is_over.wait(60)
            return b""

    is_asked, is_over = threading.Event(), threading.Event()
    wallet = sandbox.wallet(USDC="1")
    payer = make_payer(wallet, wallet_secret_key=None, signer=Silent(wallet.address))
    url = f"{sandbox.api_url}/usdc"
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(lambda: failure_of(lambda: payer.client.get(url), "client_closed"))
        assert is_asked.wait(60)
        payer.client.close()
        assert call.result().funds == "untouched"
        is_over.set()


def test_raises_client_closed_with_uncertain_funds_in_a_resume_that_waits_for_a_node(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(lambda seen: None if seen.is_paid else terms(offer(sandbox)))
    earlier = make_payer(USDC="1")
    failure_of(lambda: earlier.client.get(seller.url), "payment_uncertain")
    earlier.client.close()
    client = make_payer(earlier.wallet).client
    sandbox.call("node.fault", HISTORY_METHOD, {"kind": "hang"})
    before = sandbox.calls(HISTORY_METHOD)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(failure_of, client.resume, "client_closed")
        until("a node is asked", lambda: sandbox.calls(HISTORY_METHOD) > before)
        client.close()
        assert (call.result().funds, call.result().retry) == ("uncertain", "never")


def test_raises_client_closed_with_uncertain_funds_before_the_chain_has_decided(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(lambda seen: BOUGHT if seen.is_paid else terms(offer(sandbox)))
    client = make_payer(USDC="1").client
    response = client.get(seller.url)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(failure_of, lambda: client.settled(response), "client_closed")
        client.close()
        again = failure_of(lambda: client.settled(response), "client_closed")
        assert (waiting.result().funds, again.funds) == ("uncertain", "uncertain")


class Slow:
    """A seller that keeps the answer to a payment until the client was closed."""

    def __init__(self, sandbox: Sandbox, make_seller: MakeSeller) -> None:
        self.was_closed = threading.Event()
        self._sell = selling(sandbox, offer(sandbox))
        self.seller = make_seller(self._answer)

    def _answer(self, seen: Seen) -> Reply | None:
        answer = self._sell(seen)
        if seen.is_paid:
            self.was_closed.wait(60)
        return answer


def test_returns_the_answer_of_a_payment_that_was_sent_before_the_client_closed(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    slow, payer = Slow(sandbox, make_seller), make_payer(USDC="1")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(payer.client.post, slow.seller.url, content=b"x")
        until("the payment is sent", lambda: slow.seller.paid)
        payer.client.close()
        slow.was_closed.set()
        assert answer.result().content == b"bought"


@pytest.mark.parametrize("turn", ["begins", "ends"])
def test_answers_a_call_that_another_thread_closes_the_client_under(
    turn: str, make_payer: MakePayer, make_seller: MakeSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    seller, client = make_seller(lambda _: Reply()), make_payer(USDC="1").client
    lock, leave, caller = vars(client)["_lock"], ForkLock.__exit__, threading.get_ident()
    # The client counts its calls under its lock.
    turns = iter(["begins", "ends"])

    def leave_and_close(left: ForkLock, *error: object) -> None:
        leave(left, *error)
        if left is lock and threading.get_ident() == caller and next(turns, None) == turn:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(client.close).result()

    monkeypatch.setattr(ForkLock, "__exit__", leave_and_close)
    assert client.get(seller.url).status_code == 200
    assert failure_of(lambda: client.get(seller.url), "client_closed").funds == "uncertain"


async def test_returns_the_answer_of_a_task_whose_payment_was_sent_before_the_client_closed(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    slow = Slow(sandbox, make_seller)
    client = AsyncClient(**sandbox.options(sandbox.wallet(USDC="1")))
    answer = asyncio.ensure_future(client.post(slow.seller.url, content=b"x"))
    while not slow.seller.paid:
        await asyncio.sleep(0.01)
    await client.aclose()
    slow.was_closed.set()
    assert (await answer).content == b"bought"


def test_delays_only_equal_calls_while_an_event_loop_is_stopped(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task of the stopped loop was cancelled while the journal was busy."""
    release = TimedJournal.release

    def slow(self: TimedJournal, *args: Any) -> Steps[None]:
        yield from call(is_over.wait)
        yield from release(self, *args)

    async def never_approve(_: object) -> bool:
        asked.append(True)
        return await asyncio.Event().wait()

    monkeypatch.setattr(TimedJournal, "release", slow)

    async def give_up() -> None:
        buying = asyncio.ensure_future(stopped.get(url))
        while not asked:
            await asyncio.sleep(0.01)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(buying, 0.05)

    wallet, is_over, loop = sandbox.wallet(USDC="1"), threading.Event(), asyncio.new_event_loop()
    url, journal = f"{sandbox.api_url}/usdc", file_journal(tmp_path / "journal")
    asked: list[bool] = []
    options = sandbox.options(wallet, journal=journal)
    stopped = AsyncClient(**options, policy={"approve": never_approve})
    loop.run_until_complete(give_up())
    short = sandbox.options(wallet, journal=journal, timeouts={"payment": 2_000})
    with Client(**options) as other, Client(**short) as hurried:
        assert other.get(f"{url}?another").status_code == 200
        waiting = failure_of(lambda: hurried.get(url), "timeout")
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


def test_advises_no_repetition_after_the_journal_was_closed(
    make_payer: MakePayer, sandbox: Sandbox, tmp_path: Path
) -> None:
    journal = file_journal(tmp_path / "journal")
    payer = make_payer(USDC="1", journal=journal)
    journal.close()
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "journal_unavailable")
    assert (error.funds, error.retry) == ("uncertain", "never")
    assert payer.signed == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_lets_a_listener_close_the_client_during_an_interrupted_call(
    make_payer: MakePayer, sandbox: Sandbox
) -> None:
    payer, is_closing = make_payer(USDC="1"), threading.Event()

    def close(_: Event) -> None:
        is_closing.set()
        is_interrupted.wait(60)
        payer.client.close()
        is_closed.set()

    def interrupt() -> None:
        is_closing.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    is_interrupted, is_closed = threading.Event(), threading.Event()
    payer.client.on("payment.signed", close)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        payer.client.get(f"{sandbox.api_url}/usdc")
    is_interrupted.set()
    assert is_closed.wait(60)
    with Client(**sandbox.options(payer.wallet)) as other:
        assert other.get(f"{sandbox.api_url}/usdc?another").status_code == 200
