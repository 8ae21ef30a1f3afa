"""Equal calls: when they are one purchase, and when they are several purchases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests

from exact_change import Client, ExactChangeError, file_journal
from exact_change._journal import store
from exact_change._journal.memory import MemoryJournal
from exact_change._journal.types import Attempt
from exact_change._kernel.task import Steps

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, failure_of, until_bought
from ..seller import Reply, offer, terms


def test_buys_again_when_an_equal_call_comes_after_the_retry_window(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1", retry_window=0)
    url = f"{sandbox.api_url}/usdc"
    sandbox.call("facilitator.fault", "/settle", {"kind": "dropAfter", "times": 1})
    failure_of(lambda: payer.client.get(url), "payment_rejected")
    payer.told("payment.settled")
    # One call must report the spent payment, even after the window.
    spent = failure_of(lambda: payer.client.get(url), "already_spent")
    assert "Ask the seller" in str(spent)
    until_bought(payer.client, url)
    assert payer.held() == 1_000_000 - 2 * PRICE


def test_buys_again_only_after_it_told_of_each_payment_with_a_lost_answer(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1", retry_window=0)

    def fail(code: str) -> object:
        error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), code)
        return error.details["payer_signature"]

    sandbox.call("facilitator.fault", "/settle", {"kind": "dropAfter", "times": 3})
    with ThreadPoolExecutor(3) as pool:
        lost = set(pool.map(fail, ["payment_rejected"] * 3))
    assert {fail("already_spent") for _ in lost} == lost
    assert len(lost) == 3


def test_makes_one_purchase_for_a_key_of_parallel_calls(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    other = make_payer(payer.wallet)
    url = f"{sandbox.api_url}/usdc"

    def buy(client: Any) -> str:
        try:
            return str(client.get(url, idempotency_key="order 1").status_code)
        except ExactChangeError as error:
            assert error.funds in ("uncertain", "spent")
            return error.code

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(buy, [payer.client, other.client] * 2))
    assert outcomes.count("200") == 1
    assert set(outcomes) <= {"200", "payment_in_progress", "already_spent"}
    assert buy(payer.client) == "already_spent"
    assert payer.signed + other.signed == ["payment"]
    assert payer.held() == 1_000_000 - PRICE


class Order(str, Enum):
    ONE = "order-1"


@pytest.mark.parametrize("door", ["client", "stream", "transport"])
def test_makes_one_purchase_for_a_key_in_the_extension_of_a_request(
    door: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer, url = make_payer(USDC="1"), f"{sandbox.api_url}/usdc"
    extensions = {"exact_change": {"idempotency_key": "order 1"}}

    def buy() -> int:
        if door == "stream":
            with payer.client.stream("GET", url, extensions=extensions) as response:
                response.read()
                return response.status_code
        if door == "client":
            return payer.client.get(url, extensions=extensions).status_code
        with httpx.Client(transport=payer.client.transport()) as http:
            return http.get(url, extensions=extensions).status_code

    assert buy() == 200
    # The answer arrived, so the caller has nothing to ask the seller for.
    message = str(failure_of(buy, "already_spent"))
    assert "its answer was delivered" in message and "Ask the seller" not in message
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


@pytest.mark.parametrize("door", ["option", "requests"])
def test_makes_one_purchase_for_a_key_of_an_enum_in_a_journal_that_is_opened_again(
    door: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    url, path = f"{sandbox.api_url}/usdc", tmp_path / "journal"
    options = sandbox.options(sandbox.wallet(USDC="1"))

    def buy(client: Client) -> Any:
        if door == "option":
            return client.get(url, idempotency_key=Order.ONE)
        with requests.Session() as session:
            session.mount("http://", client.adapter())
            return session.get(url, headers={"idempotency-key": Order.ONE}, timeout=60)

    with file_journal(path) as journal, Client(**options, journal=journal) as client:
        assert buy(client).status_code == 200
    with file_journal(path) as journal, Client(**options, journal=journal) as client:
        failure_of(lambda: buy(client), "already_spent")
        failure_of(lambda: client.get(url, idempotency_key="order-1"), "already_spent")


def test_frees_a_key_when_its_call_signed_nothing(sandbox: Sandbox, make_payer: MakePayer) -> None:
    payer = make_payer(USDC="1")
    sandbox.call("node.fault", "getLatestBlockhash", {"kind": "rateLimited", "retryAfter": 60})

    def buy() -> Any:
        return payer.client.get(f"{sandbox.api_url}/usdc", idempotency_key="order 3")

    failure_of(buy, "rate_limited")
    sandbox.call("node.clearFaults")
    assert buy().status_code == 200 and payer.signed == ["payment"]


def test_refuses_a_key_for_another_seller_path_or_body(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    lost = make_seller(lambda seen: terms(offer(sandbox)) if seen.payment is None else None)
    other = make_seller(lambda seen: terms(offer(sandbox)) if seen.payment is None else Reply())
    client = payer.client
    failure_of(lambda: client.get(lost.url, idempotency_key="job"), "payment_uncertain")
    for call in (
        lambda: client.get(other.url, idempotency_key="job"),
        lambda: client.get(f"{lost.url}/other", idempotency_key="job"),
        lambda: client.post(lost.url, content=b"x", idempotency_key="job"),
    ):
        error = failure_of(call, "idempotency_mismatch")
        assert (error.funds, error.moved) == ("untouched", ())
    assert not other.paid and payer.signed == ["payment"]


def test_makes_one_purchase_for_each_call_without_a_key(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    url = f"{sandbox.api_url}/usdc"
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: payer.client.get(url).status_code, range(3))) == [200] * 3
    assert payer.client.get(url).status_code == 200
    assert payer.held() == 1_000_000 - 4 * PRICE


def test_buys_again_when_an_answer_is_delivered_while_an_equal_call_reads_the_journal(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call reads the record before the delivery, and checks the claim after its end."""
    put, similar = MemoryJournal.put, MemoryJournal.similar
    signed: list[Attempt] = []
    stale: list[bool] = []

    def write(self: MemoryJournal, attempt: Attempt) -> Steps[None]:
        if attempt["state"] == "signed" and not attempt["delivered"]:
            signed.append(attempt)
        return put(self, attempt)

    def read(self: MemoryJournal, *args: Any) -> Steps[list[Attempt]]:
        found = yield from similar(self, *args)
        return signed if stale and stale.pop() else found

    monkeypatch.setattr(MemoryJournal, "put", write)
    monkeypatch.setattr(MemoryJournal, "similar", read)
    payer, url = make_payer(USDC="1"), f"{sandbox.api_url}/usdc"
    assert payer.client.get(url).status_code == 200
    stale.append(True)
    assert payer.client.get(url).status_code == 200
    assert signed and not stale and payer.held() == 1_000_000 - 2 * PRICE


def test_raises_already_spent_for_a_repeatable_call_with_the_key_of_an_old_purchase(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old purchase is remembered in brief, without the header that would present it again."""
    monkeypatch.setattr(store, "_MOST_WHOLE", 0)
    monkeypatch.setattr(store, "_MOST_CLOSED", 0)
    payer, url = make_payer(USDC="1"), f"{sandbox.api_url}/usdc"

    def buy() -> object:
        return payer.client.get(url, idempotency_key="order-1", repeatable=True)

    buy()
    payer.told("payment.settled")
    error = failure_of(buy, "already_spent")
    assert (error.funds, payer.signed) == ("spent", ["payment"])
