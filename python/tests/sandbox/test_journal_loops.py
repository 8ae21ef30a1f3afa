"""A durable journal after the event loop of the caller ended before the writes of a call."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, Callable, Coroutine

import httpx
import pytest

from exact_change import (
    AsyncClient,
    Client,
    DurableJournal,
    EventName,
    ExactChangeError,
    postgres_journal,
)
from exact_change._journal.file import disk
from exact_change._journal.postgres.connection import Connection
from exact_change._kernel.task import Steps
from exact_change._payments import delivery
from exact_change._payments.saving import save_attempt

from ..buyer import buy, journal_of
from ..conftest import MakeSeller
from ..node import Sandbox
from ..payer import PRICE, failure_of
from ..seller import Reply, Seen

# A loop that closes during a call leaves the connections of its client to garbage collection.
pytestmark = [
    pytest.mark.usefixtures("garbage"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("key", [None, "order-1"])
@pytest.mark.parametrize("kind", ["file", "Postgres"])
def test_pays_once_when_the_loop_ends_after_the_payment_was_sent(
    kind: str, key: str | None, sandbox: Sandbox, make_seller: MakeSeller, tmp_path: Path
) -> None:
    wallet = sandbox.wallet(USDC="1")
    is_reached, may_end = threading.Event(), threading.Event()

    def forward(seen: Seen) -> Reply:
        paying = {name: value for name, value in seen.headers.items() if "payment" in name}
        answer = httpx.get(f"{sandbox.api_url}/usdc", headers=paying)
        if seen.is_paid and not is_reached.is_set():
            is_reached.set()
            may_end.wait(60)
        terms = {name: value for name, value in answer.headers.items() if "payment" in name}
        return Reply(answer.status_code, terms, answer.content)

    seller = make_seller(forward)
    before = sandbox.balance(sandbox.merchant, "USDC")
    place = {"path": str(tmp_path / "journal")}
    if kind == "Postgres":
        place = {"connectionString": sandbox.call("createDatabase")}
    journal = journal_of(place)
    options = {} if key is None else {"idempotency_key": key}

    async def buy(gives_up: bool) -> int:
        client = AsyncClient(**sandbox.options(wallet), journal=journal)
        task = asyncio.ensure_future(client.get(seller.url, **options))
        while gives_up and not is_reached.is_set() and not task.done():
            await asyncio.sleep(0.01)
        return (await asyncio.wait_for(task, 0.05 if gives_up else 60)).status_code

    with journal:
        with pytest.raises(asyncio.TimeoutError):
            asyncio.run(buy(gives_up=True))
        with pytest.raises(ExactChangeError) as caught:
            asyncio.run(buy(gives_up=False))
        may_end.set()
    assert caught.value.code == "already_spent"
    assert sandbox.balance(sandbox.merchant, "USDC") - before == PRICE


@pytest.mark.parametrize("key", [None, "order-1"])
def test_frees_budget_and_key_when_the_loop_ends_during_the_reservation(
    key: str | None, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process lives on, but the call does not."""
    is_reached, may_end = threading.Event(), threading.Event()
    query = Connection._query

    def held_query(self: Any, *args: Any) -> Any:
        if "select taken, n, used, held" in args[0] and not is_reached.is_set():
            is_reached.set()
            may_end.wait(60)
        return query(self, *args)

    monkeypatch.setattr(Connection, "_query", held_query)
    wallet, url = sandbox.wallet(USDC="1"), f"{sandbox.api_url}/usdc"
    journal = journal_of({"connectionString": sandbox.call("createDatabase")})
    options = sandbox.options(wallet, journal=journal, policy={"max_per_day": "0.01"})
    key_option = {} if key is None else {"idempotency_key": key}

    async def begin() -> None:
        task = asyncio.ensure_future(AsyncClient(**options).get(url, **key_option))
        while not is_reached.is_set() and not task.done():
            await asyncio.sleep(0.01)
        await asyncio.wait_for(task, 0.05)

    with journal:
        with pytest.raises(asyncio.TimeoutError):
            asyncio.run(begin())
        may_end.set()
        with Client(**options) as client:
            assert client.get(url, **key_option).status_code == 200
            assert [use.used for use in client.spent() if use.cap == "max_per_day"] == ["0.01"]
            assert len(client.receipts()) == 1


def closes_during_call(
    journal: DurableJournal,
    call: Callable[[], Coroutine[Any, Any, object]],
    is_reached: threading.Event,
    may_end: threading.Event,
    ends: str = "closed",
) -> None:
    """Closes a journal during a call, after the call's event loop was stopped or closed."""

    async def begin() -> asyncio.Task[object]:
        task = asyncio.ensure_future(call())
        while not is_reached.is_set() and not task.done():
            await asyncio.sleep(0.01)
        return task

    loop = asyncio.new_event_loop()
    task = loop.run_until_complete(begin())
    if ends == "closed":
        loop.close()
    closing = threading.Thread(target=journal.close, daemon=True)
    closing.start()
    may_end.set()
    closing.join(60)
    assert not closing.is_alive() and not task.done()
    loop.close()


@pytest.mark.parametrize("ends", ["closed", "stopped"])
def test_closes_a_postgres_journal_after_a_loop_ended_during_a_call(
    ends: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_reached, may_end = threading.Event(), threading.Event()
    query = Connection._query

    def held(self: Any, *args: Any) -> Any:
        is_reached.set()
        may_end.wait(60)
        return query(self, *args)

    monkeypatch.setattr(Connection, "_query", held)
    journal = postgres_journal(sandbox.call("createDatabase"))
    shared: Any = journal.shared
    # It does not wait long for a call that never goes on, but the database may answer late.
    monkeypatch.setattr(shared._parts.gate._inside, "_longest_ms", 1_000)
    client = AsyncClient(**sandbox.options(sandbox.wallet(), journal=journal))

    closes_during_call(journal, client.spent, is_reached, may_end, ends)


def test_closes_a_file_journal_after_a_loop_closed_during_a_write(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    is_reached, may_end = threading.Event(), threading.Event()
    path, sync = tmp_path / "journal", disk._sync

    def held(descriptor: int) -> None:
        if path.exists() and b'"signed"' in path.read_bytes():
            is_reached.set()
            may_end.wait(60)
        sync(descriptor)

    monkeypatch.setattr(disk, "_sync", held)
    journal = journal_of({"path": str(path)})
    client = AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"), journal=journal))

    url = f"{sandbox.api_url}/usdc"
    closes_during_call(journal, lambda: client.get(url), is_reached, may_end)


@pytest.mark.parametrize("turns", [0, 2, 8])
@pytest.mark.parametrize(
    "event", ["payment.chosen", "payment.signed", "payment.sent", "payment.answered"]
)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_frees_the_key_and_pays_once_when_the_loop_of_a_call_closed(
    kind: str, event: EventName, turns: int, sandbox: Sandbox, tmp_path: Path
) -> None:
    """The loop cancels no task; the call just never continues."""
    wallet, url = sandbox.wallet(USDC="1"), f"{sandbox.api_url}/usdc"
    options = sandbox.options(wallet, policy={"max_per_day": "0.02"})
    if kind == "file":
        options["journal"] = journal_of({"path": str(tmp_path / "journal")})
    loop = asyncio.new_event_loop()

    def end(left: int) -> None:
        if left == 0:
            loop.stop()
        else:
            loop.call_soon(end, left - 1)

    async def begin() -> asyncio.Task[httpx.Response]:
        client = AsyncClient(**options)
        client.on(event, lambda _event: end(turns))
        task = asyncio.ensure_future(client.get(url, idempotency_key="order-1"))
        task.add_done_callback(lambda _task: loop.stop())
        return task

    task = loop.run_until_complete(begin())
    loop.run_forever()
    loop.close()
    with Client(**options) as client:
        # The payment may be refused while the seller still settles it, so the call is repeated.
        assert buy(client, url, idempotency_key="order-1") in ("answered", "spent")
        assert 1_000_000 - sandbox.balance(wallet.address, "USDC") == PRICE
        # The cap has room for a second payment.
        assert client.get(f"{url}?other").status_code == 200
    if kind == "file":
        options["journal"].close()
    # Keep the task until here, because its collection runs the rest of its code.
    del task


@pytest.mark.parametrize("key", [None, "order-1"])
@pytest.mark.parametrize("kind", ["file", "Postgres"])
def test_pays_once_when_another_journal_follows_a_call_of_a_closed_loop(
    kind: str, key: str | None, sandbox: Sandbox, tmp_path: Path
) -> None:
    """A repeat without a key must not pay again; a repeat with a key must not stay blocked."""
    wallet, url = sandbox.wallet(USDC="1"), f"{sandbox.api_url}/usdc"
    place = {"path": str(tmp_path / "journal")}
    if kind == "Postgres":
        place = {"connectionString": sandbox.call("createDatabase")}
    key_option = {} if key is None else {"idempotency_key": key}
    loop, first = asyncio.new_event_loop(), journal_of(place)

    def end(left: int) -> None:
        if left == 0:
            loop.stop()
        else:
            loop.call_soon(end, left - 1)

    async def begin() -> asyncio.Task[httpx.Response]:
        client = AsyncClient(**sandbox.options(wallet), journal=first)
        client.on("payment.sent", lambda _event: end(8))
        return asyncio.ensure_future(client.get(url, **key_option))

    task = loop.run_until_complete(begin())
    loop.run_forever()
    loop.close()
    assert not task.done()
    with journal_of(place) as journal, Client(**sandbox.options(wallet), journal=journal) as client:
        assert buy(client, url, **key_option) in ("answered", "spent")
    assert 1_000_000 - sandbox.balance(wallet.address, "USDC") == PRICE
    first.close()


def test_pays_once_when_the_loop_closed_as_the_end_of_the_body_was_written(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    wallet, url = sandbox.wallet(USDC="1"), f"{sandbox.api_url}/usdc"
    journal = journal_of({"connectionString": sandbox.call("createDatabase")})
    options = sandbox.options(wallet, journal=journal)
    loop = asyncio.new_event_loop()

    def stop_and_save(*args: Any) -> Steps[None]:
        monkeypatch.undo()
        loop.call_soon_threadsafe(loop.stop)
        yield from save_attempt(*args)

    async def begin() -> asyncio.Task[httpx.Response]:
        return asyncio.ensure_future(AsyncClient(**options).get(url))

    monkeypatch.setattr(delivery, "save_attempt", stop_and_save)
    task = loop.run_until_complete(begin())
    loop.run_forever()
    loop.close()
    assert not task.done()
    with journal, Client(**options) as client:
        assert failure_of(lambda: client.get(url), "already_spent").funds == "spent"
    assert 1_000_000 - sandbox.balance(wallet.address, "USDC") == PRICE
