"""Processes of both languages that share a wallet and a journal, checked against the chain."""

from __future__ import annotations

import json
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from exact_change import Client, file_journal
from exact_change._journal.types import Along, Attempt, Owner
from exact_change._kernel.hosts import threads
from exact_change._kernel.task import Steps
from exact_change._payments.journal_timeouts import TimedJournal
from exact_change.errors import failure

from ..buyer import buy, ended, journal_of, main, start
from ..conftest import MakePayer, MakeSeller
from ..forked import end_of
from ..node import Sandbox, Wallet
from ..payer import PRICE, failure_of, until
from ..proxy import Proxy
from ..seller import MAINNET, Reply, Seen, offer, selling, terms

KINDS = ("file", "Postgres")


def place_of(kind: str, sandbox: Sandbox, directory: Path) -> dict[str, str]:
    """Returns the place of a new journal, in the form that both languages take."""
    if kind == "file":
        return {"path": str(directory / "journal")}
    return {"connectionString": sandbox.call("createDatabase")}


def is_killed(process: subprocess.Popen[str]) -> bool:
    """Waits for a process, and returns whether SIGKILL ended it."""
    process.communicate(timeout=300)
    return process.returncode == -signal.SIGKILL


class Shared:
    """A wallet with payers that share a journal."""

    def __init__(self, sandbox: Sandbox, place: dict[str, str], wallet: Wallet, **options: Any):
        self.sandbox = sandbox
        self.place = place
        self.wallet = wallet
        self.options = sandbox.options(wallet, **options)
        self._before = sandbox.balance(sandbox.merchant, "USDC")

    def task(self, urls: list[str], **more: Any) -> dict[str, Any]:
        """Returns the task of a process."""
        return {**self.place, "options": self.options, "seed": 1, "urls": urls, **more}

    @property
    def received(self) -> int:
        """The number of prices that the merchant received, by its balance on the chain."""
        amount = self.sandbox.balance(self.sandbox.merchant, "USDC") - self._before
        assert amount % PRICE == 0
        return amount // PRICE

    def url(self, item: object) -> str:
        """Returns the URL of an item."""
        return f"{self.sandbox.api_url}/usdc?item={item}"

    def audit(self, calls: int) -> list[str]:
        """Waits until the chain decides all payments; returns the bought URLs, each only once."""
        journal = journal_of(self.place)
        with journal, Client(**self.options, journal=journal) as client:

            def is_decided() -> bool:
                client.resume()
                return all(
                    receipt.state in ("settled", "unsettled") for receipt in client.receipts()
                )

            until("the chain decides every payment", is_decided)
            bought = [receipt.url for receipt in client.receipts() if receipt.state == "settled"]
            assert len(set(bought)) == len(bought) <= calls
            assert self.received == len(bought)
            return bought


@pytest.mark.parametrize("kind", KINDS)
def test_keeps_one_budget_for_a_process_of_each_language(
    kind: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    """Both swap, and neither process swaps or spends tokens that the other process holds."""
    place = place_of(kind, sandbox, tmp_path)
    policy = {"max_per_day": "0.20", "min_swap": "0.03"}
    # The wallet has a USDC account, because the rent of a new account would count.
    wallet = sandbox.wallet(SOL="0.5", USDC="0.02")
    shared = Shared(sandbox, place, wallet, auto_swap=True, policy=policy)
    no_faults = {"inHow": 1e9}
    halves = [[shared.url(f"{half}-{at}") for at in range(12)] for half in (0, 1)]
    processes = [
        start(sandbox, language, shared.task(urls, **no_faults))
        for language, urls in zip(("python", "node"), halves)
    ]
    bought = [end for process in processes for end in ended(process)]
    # Fees of swaps count too, so they take the last cent or two.
    assert set(bought) <= {"answered", "refused"}
    assert 17 <= bought.count("answered") <= 19
    assert len(shared.audit(24)) == bought.count("answered")
    assert sandbox.balance(shared.wallet.address, "USDC") < 10 * PRICE


@pytest.mark.parametrize("kind", KINDS)
def test_resumes_a_killed_purchase_of_one_language_in_the_other(
    kind: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    """The process is killed between signature and sending; its key buys once in total."""
    shared = Shared(sandbox, place_of(kind, sandbox, tmp_path), sandbox.wallet(USDC="1"))
    task = shared.task([shared.url(1)], key="k", kill=["event", "payment.sent"])
    assert is_killed(start(sandbox, "python", task))
    assert ended(start(sandbox, "node", shared.task([shared.url(1)], inHow=1e9))) == ["answered"]
    assert shared.audit(1) == [shared.url(1)]


@pytest.mark.parametrize("kind", KINDS)
def test_pays_once_when_a_process_is_killed_at_any_write(
    kind: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    """The kill comes before a line of a file, or after a write to Postgres; a repeat follows."""
    # The number of writes of a purchase with a swap in an empty journal.
    points = [("append", at) for at in range(1, 25)]
    if kind == "Postgres":
        points = [("statement", at) for at in range(1, 16)]
    before = sandbox.balance(sandbox.merchant, "USDC")

    def survive(index: int) -> bool:
        directory = tmp_path / str(index)
        directory.mkdir()
        place = place_of(kind, sandbox, directory)
        wallet = wallets[index]
        shared = Shared(sandbox, place, wallet, auto_swap=True)
        url = shared.url(f"{kind}-{index}")
        task = shared.task([url], key="k", inHow=1e9)
        end = end_of(directory / "said", main, {**task, "kill": points[index]})
        journal = journal_of(place)
        with journal, Client(**shared.options, journal=journal) as client:
            assert buy(client, url, idempotency_key="k") in ("answered", "spent")

            def is_settled() -> bool:
                client.resume()
                return [receipt.state for receipt in client.receipts()] == ["settled"]

            until("the only payment is settled", is_settled)
            parts = client.spent()[0].parts
            assert parts is not None and parts.payments == "0.01"
        return end == -signal.SIGKILL

    wallets = [sandbox.wallet(SOL="0.1", USDC="0.001") for _ in points]
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(survive, range(len(points))))
    # The last points may come after the end of the call, so up to two processes survive.
    assert sum(ends) >= len(points) - 2
    assert sandbox.balance(sandbox.merchant, "USDC") - before == len(points) * PRICE


def test_keeps_one_budget_for_eight_processes_of_both_languages_under_faults(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """One in ten messages to nodes and sellers fails; then a client spends the rest of the cap."""
    place = place_of("Postgres", sandbox, tmp_path)
    policy = {"max_per_day": "0.50"}
    shared = Shared(sandbox, place, sandbox.wallet(USDC="2"), policy=policy)
    languages = ["python", "python", "asyncio", "asyncio", *["node"] * 4]
    urls = [shared.url(at) for at in range(64)]
    processes = [
        start(sandbox, language, shared.task(urls[at::8], seed=at))
        for at, language in enumerate(languages)
    ]
    bought = [end for process in processes for end in ended(process)]
    paid = len(shared.audit(64))
    assert bought.count("answered") + bought.count("spent") <= paid <= 50
    assert bought.count("refused") >= 64 - 50
    journal = journal_of(place)
    with journal, Client(**shared.options, journal=journal) as client:
        more = [buy(client, shared.url(f"more-{at}")) for at in range(50 - paid + 3)]
        assert more == ["answered"] * (50 - paid) + ["refused"] * 3
        until("all have landed", lambda: shared.received == 50)
        assert client.spent()[0].used == "0.5"


def test_resumes_payments_of_an_earlier_process_with_one_status_call(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    wallet = sandbox.wallet(SOL="0.1", USDC="1")
    url = f"{sandbox.api_url}/usdc"
    place = tmp_path / "journal"
    # Else the client may hear of the fate of all payments before it closes.
    for method in ("getSignatureStatuses", "getSignaturesForAddress"):
        sandbox.call("node.fault", method, {"kind": "hang"}, "client")
    with file_journal(place) as journal:
        rpc_url = f"{sandbox.rpc_url}/?caller=client"
        client = Client(**sandbox.options(wallet, journal=journal, rpc_url=rpc_url))
        client.warm()
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(client.get, [f"{url}?item={item}" for item in range(8)]))
        client.close()
        assert [answer.status_code for answer in answers] == [200] * 8
    proxy = Proxy(sandbox.rpc_url)
    with file_journal(place) as journal:
        options = sandbox.options(wallet, journal=journal, rpc_url=proxy.url)
        with Client(**options) as client:
            resumed = client.resume()
    methods = [json.loads(request.body)["method"] for request in proxy.seen]
    proxy.close()
    assert len(resumed) == 8
    assert {receipt.state for receipt in resumed} == {"settled"}
    assert methods.count("getSignatureStatuses") == 1


@pytest.mark.parametrize("way", ["closed elsewhere", "not recorded at first"])
def test_buys_anew_after_a_delivery_of_which_the_journal_had_not_heard(
    way: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Another process knows nothing of an answer that only this process got."""
    sell = selling(sandbox, offer(sandbox))

    def answer(seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return terms(offer(sandbox))
        if len(seller.paid) == 1:
            return None
        sold = sell(seen)
        if len(seller.paid) == 2 and way == "closed elsewhere":
            close_elsewhere()
        return sold

    def close_elsewhere() -> None:
        owner = Owner(wallet.address, MAINNET)
        (attempt,) = threads.run(journal.shared.attempts(owner, state="signed"))
        receipt = {**attempt.get("receipt", {}), "state": "settled"}
        closed: Any = {**attempt, "state": "settled", "leftAt": attempt["at"], "receipt": receipt}
        threads.run(journal.shared.put(closed))

    put = TimedJournal.put
    lost: list[Attempt] = []

    def lose_once(self: TimedJournal, attempt: Attempt, along: Along) -> Steps[None]:
        if attempt["delivered"] and not lost:
            lost.append(attempt)
            raise failure("journal_unavailable", "The disk is full.", {"step": "put"})
        yield from put(self, attempt, along)

    seller = make_seller(answer)
    with file_journal(tmp_path / "journal") as journal:
        first = make_payer(USDC="1", journal=journal)
        wallet = first.wallet
        failure_of(lambda: first.client.get(seller.url), "payment_uncertain")
        first.client.close()
        if way == "not recorded at first":
            monkeypatch.setattr(TimedJournal, "put", lose_once)
        again = make_payer(wallet, journal=journal)
        assert again.client.get(seller.url).text == "bought"
        again.told("payment.settled")
        assert again.client.get(seller.url).text == "bought"
        assert (len(seller.paid), again.signed) == (3, ["payment"])
        again.told("payment.settled", 2)
        again.client.close()
    assert again.held() == 1_000_000 - 2 * PRICE
