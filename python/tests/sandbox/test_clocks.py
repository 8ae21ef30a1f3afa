"""A system clock that runs ahead, or is set back."""

from __future__ import annotations

import time

import pytest

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import failure_of
from ..seller import Reply, Seen, offer, selling, terms

MONTH_NS = 30 * 24 * 60 * 60 * 10**9


def test_tops_up_after_the_clock_is_set_back_when_a_top_up_failed_before(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = {"top_up": {"token": "USDC", "below": "0.05", "to": "0.20"}}
    payer = make_payer(SOL="1", USDC="0.05", auto_swap=True, policy=policy)
    url, now = f"{sandbox.api_url}/usdc", time.time_ns
    sandbox.call("aggregator.noRoute", "SOL", "USDC")
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: now() + MONTH_NS)
        assert payer.client.get(url).status_code == 200
        payer.told("warning")
    sandbox.call("aggregator.restore")
    assert payer.client.get(url).status_code == 200
    payer.told("swap.confirmed")


def test_requests_terms_again_when_the_clock_was_ahead_as_they_were_kept(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sell, now = selling(sandbox, offer(sandbox)), time.time_ns
    seller = make_seller(lambda seen: sell(seen) if seen.is_paid else terms(offer(sandbox)))
    payer = make_payer(USDC="1", presign=[seller.url])
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: now() + MONTH_NS)
        assert payer.client.get(seller.url).text == "bought"
        payer.told("payment.settled")
        assert payer.client.get(seller.url).text == "bought"
    assert payer.client.get(seller.url).text == "bought"
    assert [request.is_paid for request in seller.seen] == [False, True, True, False, True]


def test_requests_terms_again_when_they_ended_while_approve_was_awaited(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sell, now = selling(sandbox, offer(sandbox)), time.time_ns
    seller = make_seller(lambda seen: sell(seen) if seen.is_paid else terms(offer(sandbox)))

    def approve(_: object) -> bool:
        monkeypatch.setattr(time, "time_ns", lambda: now() + 301 * 10**9)
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
    sell, now = selling(sandbox, offer(sandbox)), time.time_ns
    payer = make_payer(USDC="1", policy={"max_per_hour": "0.01"})
    with monkeypatch.context() as patch:

        def answer(seen: Seen) -> Reply | None:
            if not seen.is_paid:
                return terms(offer(sandbox))
            patch.setattr(time, "time_ns", lambda: now() - MONTH_NS)
            return sell(seen)

        seller = make_seller(answer)
        assert payer.client.get(seller.url).text == "bought"
        payer.told("payment.settled")
    failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "budget_exhausted")
