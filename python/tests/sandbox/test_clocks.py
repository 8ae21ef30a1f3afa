"""A system clock that runs ahead, or is set back."""

from __future__ import annotations

import time

import pytest

from exact_change._journal.along import AlongMemory
from exact_change._journal.types import ALONE, Along, Attempt
from exact_change._kernel.task import Steps
from exact_change.errors import failure

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, failure_of, until_bought
from ..seller import Reply, Seen, Seller, offer, selling, terms

HOUR_NS = 60 * 60 * 10**9
MONTH_NS = 30 * 24 * HOUR_NS


@pytest.fixture
def seller(sandbox: Sandbox, make_seller: MakeSeller) -> Seller:
    return make_seller(selling(sandbox, offer(sandbox)))


def shift(patch: pytest.MonkeyPatch, ns: int) -> None:
    """Sets the system clock forward, or back."""
    now = time.time_ns
    patch.setattr(time, "time_ns", lambda: now() + ns)


def test_tops_up_after_the_clock_is_set_back_when_a_top_up_failed_before(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = {"top_up": {"token": "USDC", "below": "0.05", "to": "0.20"}}
    payer = make_payer(SOL="1", USDC="0.05", auto_swap=True, policy=policy)
    url = f"{sandbox.api_url}/usdc"
    sandbox.call("aggregator.noRoute", "SOL", "USDC")
    with monkeypatch.context() as patch:
        shift(patch, MONTH_NS)
        assert payer.client.get(url).status_code == 200
        payer.told("warning")
    sandbox.call("aggregator.restore")
    assert payer.client.get(url).status_code == 200
    payer.told("swap.confirmed")


def test_requests_terms_again_when_the_clock_was_ahead_as_they_were_kept(
    make_payer: MakePayer, seller: Seller, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = make_payer(USDC="1", presign=[seller.url])
    with monkeypatch.context() as patch:
        shift(patch, MONTH_NS)
        assert payer.client.get(seller.url).text == "bought"
        payer.told("payment.settled")
        assert payer.client.get(seller.url).text == "bought"
    assert payer.client.get(seller.url).text == "bought"
    assert [request.is_paid for request in seller.seen] == [False, True, True, False, True]


def test_requests_terms_again_when_they_ended_while_approve_was_awaited(
    make_payer: MakePayer, seller: Seller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def approve(_: object) -> bool:
        shift(monkeypatch, 301 * 10**9)
        return True

    payer = make_payer(USDC="1", presign=[seller.url], policy={"approve": approve})
    for _ in range(2):
        assert payer.client.get(seller.url).text == "bought"
    assert [request.is_paid for request in seller.seen] == [False, True, False, True]


def test_counts_a_payment_in_its_window_when_it_settles_while_the_clock_is_set_back(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sell = selling(sandbox, offer(sandbox))
    payer = make_payer(USDC="1", policy={"max_per_hour": "0.01"})
    with monkeypatch.context() as patch:

        def answer(seen: Seen) -> Reply | None:
            if not seen.is_paid:
                return terms(offer(sandbox))
            shift(patch, -MONTH_NS)
            return sell(seen)

        seller = make_seller(answer)
        assert payer.client.get(seller.url).text == "bought"
        payer.told("payment.settled")
    failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "budget_exhausted")


def test_does_not_pay_again_in_the_window_because_another_clock_is_an_hour_behind(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer, now = make_payer(USDC="1"), time.time_ns
    url = f"{sandbox.api_url}/usdc"
    sandbox.call("facilitator.fault", "/settle", {"kind": "dropAfter", "times": 1})
    failure_of(lambda: payer.client.get(url), "payment_rejected")
    # Each second call waits until the journal has the time at which the first was answered.
    for behind in (0, 0, HOUR_NS, HOUR_NS, 0, 0):
        monkeypatch.setattr(time, "time_ns", lambda behind=behind: now() - behind)
        failure_of(lambda: payer.client.get(url), "already_spent")
    assert payer.held() == 1_000_000 - PRICE


def test_pays_again_after_the_window_when_the_caller_heard_of_a_payment_while_the_clock_was_ahead(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = make_payer(USDC="1", retry_window=0)
    url = f"{sandbox.api_url}/usdc"
    sandbox.call("facilitator.fault", "/settle", {"kind": "dropAfter", "times": 1})
    failure_of(lambda: payer.client.get(url), "payment_rejected")
    ahead = time.time_ns() + MONTH_NS
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: ahead)
        # The second call waits until the journal has the time at which the first was answered.
        for _ in range(2):
            failure_of(lambda: payer.client.get(url), "already_spent")
    until_bought(payer.client, url)
    assert payer.held() == 1_000_000 - 2 * PRICE


def test_blocks_an_equal_call_for_ten_minutes_when_the_process_ended_while_it_told(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = AlongMemory.put

    def put_until_told(self: AlongMemory, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
        if "toldAt" in attempt:
            raise failure("journal_unavailable", "The process has ended.", {"reason": ""})
        yield from put(self, attempt, along)

    monkeypatch.setattr(AlongMemory, "put", put_until_told)
    payer = make_payer(USDC="1", retry_window=0)
    url = f"{sandbox.api_url}/usdc"
    sandbox.call("facilitator.fault", "/settle", {"kind": "dropAfter", "times": 1})
    failure_of(lambda: payer.client.get(url), "payment_rejected")
    payer.told("payment.settled")
    # The clock stands still in between, because a busy machine may need more than ten seconds.
    now = time.time_ns()
    for seconds in (0, 1, 590):
        monkeypatch.setattr(time, "time_ns", lambda later=seconds: now + later * 10**9)
        failure_of(lambda: payer.client.get(url), "already_spent")
    monkeypatch.setattr(time, "time_ns", lambda: now + 610 * 10**9)
    assert payer.client.get(url).status_code == 200
    assert payer.held() == 1_000_000 - 2 * PRICE
