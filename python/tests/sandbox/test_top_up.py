"""A float of a dollar token that is kept by swaps between calls."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from exact_change import AsyncClient, Client, file_journal

from ..buyer import journal_of
from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of, until

TO, BELOW = 20 * PRICE, 5 * PRICE
# A venue that pays out less: adapters/sandbox/venue/venue.mjs.
UNDERPAY = 6
TOP_UP: Any = {"token": "USDC", "below": "0.05", "to": "0.20"}


class Kept:
    """Makes payers that keep a float, and pays with them."""

    def __init__(self, sandbox: Sandbox, make: MakePayer) -> None:
        self._sandbox = sandbox
        self._make = make

    def __call__(self, usdc: str = "0.05", *, wallet: Any = None, **options: Any) -> Payer:
        policy = {"top_up": TOP_UP, **options.pop("policy", {})}
        rpc_url = f"{self._sandbox.rpc_url}/?caller=client"
        if wallet is None:
            options.update(SOL="1", USDC=usdc)
        return self._make(wallet, auto_swap=True, rpc_url=rpc_url, policy=policy, **options)

    def pay(self, payer: Payer, times: int = 1) -> None:
        for _ in range(times):
            answer = payer.client.get(f"{self._sandbox.api_url}/usdc")
            assert answer.status_code == 200

    def hold_swaps(self) -> None:
        """Payments land, as the facilitator is another caller of the node."""
        fault = {"kind": "neverLands"}
        self._sandbox.call("node.fault", "sendTransaction", fault, "client")

    def let_go(self) -> None:
        self._sandbox.call("node.clearFaults")


@pytest.fixture
def kept(sandbox: Sandbox, make_payer: MakePayer) -> Kept:
    return Kept(sandbox, make_payer)


def test_no_call_waits_for_a_swap(kept: Kept) -> None:
    payer = kept("0.07")
    for _ in range(20):
        kept.pay(payer)
        # No faster than a float of five calls is there for.
        if payer.held() <= 2 * PRICE:
            until("the float is there", lambda: payer.held() >= BELOW)
    until("the float is there", lambda: payer.held() >= BELOW)
    payer.told("swap.confirmed", payer.seen("swap.signed"))
    calls = {one.id for one in payer.events if one.type == "payment.required"}
    swaps = [one for one in payer.events if one.type == "swap.confirmed"]
    assert not calls & {one.id for one in swaps}
    missing = [one.details["missing"] for one in payer.events if one.type == "balance.checked"]
    assert missing == ["0"] * 20
    brought = [int(one.details["out_amount"]) for one in swaps]
    assert all(TO - BELOW < one <= TO for one in brought)
    assert payer.held() == (7 - 20) * PRICE + sum(brought)
    assert (payer.seen("swap.failed"), payer.seen("warning")) == (0, 0)


def test_payments_go_on_while_it_lands(kept: Kept) -> None:
    payer = kept()
    kept.hold_swaps()
    kept.pay(payer)
    payer.told("swap.signed")
    kept.pay(payer, 3)
    assert payer.seen("swap.confirmed") == 0
    kept.let_go()
    payer.told("swap.confirmed")
    assert payer.seen("swap.failed") == 0
    assert payer.held() > TO - BELOW


def test_a_payment_that_lacks_the_token_waits_for_it(kept: Kept) -> None:
    payer = kept("0.02")
    kept.hold_swaps()
    payer.client.warm()
    payer.told("swap.signed")
    kept.pay(payer, 2)

    def let_go(event: Any) -> None:
        if event.details["missing"] != "0":
            kept.let_go()

    payer.client.on("balance.checked", let_go)
    kept.pay(payer)
    assert payer.signed.count("swap") == 1


def test_what_it_counts_while_it_is_under_way_refuses_no_payment(kept: Kept) -> None:
    payer = kept(policy={"max_per_day": "0.06"})
    kept.hold_swaps()
    kept.pay(payer)
    payer.told("swap.signed")
    payer.client.on("payment.chosen", lambda _: kept.let_go())
    kept.pay(payer)
    assert float(payer.used) <= 0.06


def test_its_approval_keeps_no_refusal_waiting(kept: Kept, sandbox: Sandbox) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    def approve(plan: Any) -> bool:
        if plan.payment is not None:
            return True
        is_asked.set()
        return may_answer.wait(60)

    payer = kept(policy={"max_per_day": "0.015", "approve": approve})
    kept.pay(payer)
    assert is_asked.wait(30)
    refused: list[str] = []

    def pay_again() -> None:
        url = f"{sandbox.api_url}/usdc"
        refused.append(failure_of(lambda: payer.client.get(url), "budget_exhausted").code)

    paying = threading.Thread(target=pay_again, daemon=True)
    paying.start()
    paying.join(20)
    may_answer.set()
    assert refused == ["budget_exhausted"]


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ({"limits": [{"swaps": 0, "per": "day"}]}, "budget_exhausted"),
        ({"approve": lambda plan: plan.payment is not None}, "approval_refused"),
        ({}, "no_route"),
    ],
    ids=lambda one: str(one)[:20],
)
def test_one_that_fails_fails_no_payment(
    policy: Any, code: str, sandbox: Sandbox, kept: Kept
) -> None:
    if code == "no_route":
        sandbox.call("aggregator.noRoute", "SOL", "USDC")
    payer = kept(policy=policy)
    kept.pay(payer)
    payer.told("warning")
    kept.pay(payer, 2)
    (warning,) = (one.details["message"] for one in payer.events if one.type == "warning")
    told = f"The top-up of USDC failed with {code}, and none is tried for 60 s."
    assert warning.startswith(told)
    assert "swap" not in payer.signed


def test_it_is_made_smaller_if_the_caps_have_no_more_room(sandbox: Sandbox, kept: Kept) -> None:
    price = int(sandbox.mints["SOL"]["picoUsd"])
    limit = {"amount": str(TO * 1_000_000 // price // 3), "mint": "SOL", "per": "day"}
    payer = kept(policy={"limits": [limit]})
    kept.pay(payer)
    payer.told("swap.confirmed")
    assert 4 * PRICE < payer.held() < TO
    kept.pay(payer, 2)


def test_it_is_asked_about_with_its_swap_alone(sandbox: Sandbox, kept: Kept) -> None:
    plans: list[Any] = []

    def approve(plan: Any) -> bool:
        plans.append(plan)
        return True

    payer = kept(policy={"approve": approve})
    kept.pay(payer)
    payer.told("swap.confirmed")
    plan = plans[1]
    assert (plan.url, plan.method, plan.status) == (f"top-up:{sandbox.mint('USDC')}", "SWAP", 0)
    assert plan.payment is None and plan.swap is not None and plan.cost is not None


def test_it_is_left_to_the_next_client(kept: Kept, tmp_path: Path) -> None:
    with file_journal(str(tmp_path / "payments.jsonl")) as journal:
        payer = kept(journal=journal)
        kept.hold_swaps()
        kept.pay(payer)
        payer.told("swap.signed")
        payer.client.close()
        kept.let_go()
        other = kept(journal=journal, wallet=payer.wallet)
        other.client.resume()
        kept.pay(other, 2)
        until("the float is there", lambda: payer.held() > TO - BELOW)
        kept.pay(other, 2)
        other.client.close()
    assert [*payer.signed, *other.signed].count("swap") == 1


async def test_it_is_made_on_an_event_loop_too(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(SOL="1", USDC="0.01")
    options = sandbox.options(wallet, auto_swap=True, policy={"top_up": TOP_UP})
    async with AsyncClient(**options) as client:
        await client.warm()
        answer = await client.get(f"{sandbox.api_url}/usdc")
        assert answer.status_code == 200


@pytest.mark.parametrize(
    ("change", "option"),
    [
        ({"token": "SOL"}, "token"),
        ({"below": "0.20"}, "below"),
        ({"to": 2}, "to"),
        ({"bellow": "1"}, "bellow"),
    ],
    ids=str,
)
def test_a_wrong_one_is_refused(
    change: Any, option: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    policy = {"top_up": {**TOP_UP, **change}}
    wallet = sandbox.wallet()
    error = failure_of(lambda: make_payer(wallet, auto_swap=True, policy=policy), "invalid_option")
    assert error.details["option"] == f"policy.top_up.{option}"
    error = failure_of(lambda: make_payer(wallet, policy={"top_up": TOP_UP}), "invalid_option")
    assert error.details["option"] == "policy.top_up"


def test_a_venue_has_to_bring_all_that_was_agreed(sandbox: Sandbox, kept: Kept) -> None:
    """Though payments may leave that much while the swap lands."""
    payer = kept()
    sandbox.call("venue", {"modes": [UNDERPAY], "amount": str(3 * PRICE)})
    kept.pay(payer)
    payer.told("warning")
    (warning,) = (one.details["message"] for one in payer.events if one.type == "warning")
    assert "failed with unsafe_swap" in warning
    assert payer.held() == 4 * PRICE


# A loop that is closed in the middle leaves the connections of its client to the garbage.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("garbage")
@pytest.mark.parametrize(
    ("kind", "is_same_journal"),
    [("memory", True), ("file", True), ("file", False), ("Postgres", True), ("Postgres", False)],
)
def test_payments_do_not_wait_for_one_whose_event_loop_has_ended(
    kind: str, is_same_journal: bool, sandbox: Sandbox, kept: Kept, tmp_path: Path
) -> None:
    """Though its client is still referred to: it held the lock of swaps for 15 minutes."""
    place: dict[str, Any] = {"file": {"path": str(tmp_path / "journal")}}.get(kind, {})
    if kind == "Postgres":
        place = {"connectionString": sandbox.call("createDatabase")}
    journal = journal_of(place) if place else None
    options = sandbox.options(
        sandbox.wallet(SOL="1", USDC="0.01"),
        auto_swap=True,
        rpc_url=f"{sandbox.rpc_url}/?caller=client",
        policy={"top_up": TOP_UP},
        **({} if journal is None else {"journal": journal}),
    )
    client, url = AsyncClient(**options), f"{sandbox.api_url}/usdc"
    kept.hold_swaps()

    async def pay_once() -> None:
        is_signed = asyncio.Event()
        client.on("swap.signed", lambda _: is_signed.set())
        assert (await client.get(url)).status_code == 200
        await is_signed.wait()

    asyncio.run(pay_once())
    kept.let_go()
    other = journal if is_same_journal else journal_of(place)
    if other is not None:
        options["journal"] = other
    answers: list[int] = []

    def pay_on() -> None:
        with Client(**options) as paying_on:
            answers.extend(paying_on.get(url).status_code for _ in range(3))

    paying = threading.Thread(target=pay_on, daemon=True)
    paying.start()
    paying.join(30)
    assert answers == [200, 200, 200]
    for one in {journal, other}:
        if one is not None:
            one.close()
