"""Top-ups: swaps between calls that keep a float of a dollar token."""

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
# Mode of a venue that pays less: adapters/sandbox/venue/venue.mjs.
UNDERPAY = 6
TOP_UP: Any = {"token": "USDC", "below": "0.05", "to": "0.20"}


class Keeper:
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
        """Holds back swaps only; payments land, because the facilitator sends them."""
        fault = {"kind": "neverLands"}
        self._sandbox.call("node.fault", "sendTransaction", fault, "client")

    def release_swaps(self) -> None:
        self._sandbox.call("node.clearFaults")


@pytest.fixture
def keeper(sandbox: Sandbox, make_payer: MakePayer) -> Keeper:
    return Keeper(sandbox, make_payer)


def test_pays_twenty_calls_from_the_float_without_waiting_for_a_swap(keeper: Keeper) -> None:
    payer = keeper("0.07")
    for _ in range(20):
        keeper.pay(payer)
        # Do not pay faster than a float of five calls allows.
        if payer.held() <= 2 * PRICE:
            until("the float is there", lambda: payer.held() >= BELOW)
    until("the float is there", lambda: payer.held() >= BELOW)
    payer.told("swap.confirmed", payer.seen("swap.signed"))
    calls = {event.id for event in payer.events if event.type == "payment.required"}
    swaps = [event for event in payer.events if event.type == "swap.confirmed"]
    assert not calls & {swap.id for swap in swaps}
    checks = [event.details for event in payer.events if event.type == "balance.checked"]
    assert [check["missing"] for check in checks] == ["0"] * 20
    brought = [int(swap.details["out_amount"]) for swap in swaps]
    assert all(TO - BELOW < amount <= TO for amount in brought)
    assert payer.held() == (7 - 20) * PRICE + sum(brought)
    assert (payer.seen("swap.failed"), payer.seen("warning")) == (0, 0)


def test_pays_from_the_float_while_a_top_up_lands(keeper: Keeper) -> None:
    payer = keeper()
    keeper.hold_swaps()
    keeper.pay(payer)
    payer.told("swap.signed")
    keeper.pay(payer, 3)
    assert payer.seen("swap.confirmed") == 0
    keeper.release_swaps()
    payer.told("swap.confirmed")
    assert payer.seen("swap.failed") == 0
    assert payer.held() > TO - BELOW


def test_waits_for_a_top_up_when_a_payment_lacks_the_token(keeper: Keeper) -> None:
    payer = keeper("0.02")
    keeper.hold_swaps()
    payer.client.warm()
    payer.told("swap.signed")
    keeper.pay(payer, 2)

    def release_swaps(event: Any) -> None:
        if event.details["missing"] != "0":
            keeper.release_swaps()

    payer.client.on("balance.checked", release_swaps)
    keeper.pay(payer)
    assert payer.signed.count("swap") == 1


def test_refuses_no_payment_for_the_budget_of_an_unfinished_top_up(keeper: Keeper) -> None:
    payer = keeper(policy={"max_per_day": "0.06"})
    keeper.hold_swaps()
    keeper.pay(payer)
    payer.told("swap.signed")
    payer.client.on("payment.chosen", lambda _: keeper.release_swaps())
    keeper.pay(payer)
    assert float(payer.used) <= 0.06


def test_refuses_a_payment_without_waiting_for_the_approval_of_a_top_up(
    keeper: Keeper, sandbox: Sandbox
) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    def approve(plan: Any) -> bool:
        if plan.payment is not None:
            return True
        is_asked.set()
        return may_answer.wait(120)

    payer = keeper(policy={"max_per_day": "0.015", "approve": approve})
    keeper.pay(payer)
    assert is_asked.wait(60)
    refused: list[str] = []

    def pay_again() -> None:
        url = f"{sandbox.api_url}/usdc"
        refused.append(failure_of(lambda: payer.client.get(url), "budget_exhausted").code)

    paying = threading.Thread(target=pay_again, daemon=True)
    paying.start()
    paying.join(60)
    may_answer.set()
    assert refused == ["budget_exhausted"]


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ({"limits": [{"swaps": 0, "per": "day"}]}, "budget_exhausted"),
        ({"approve": lambda plan: plan.payment is not None}, "approval_refused"),
        ({}, "no_route"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_pays_and_warns_when_a_top_up_fails(
    policy: Any, code: str, sandbox: Sandbox, keeper: Keeper
) -> None:
    if code == "no_route":
        sandbox.call("aggregator.noRoute", "SOL", "USDC")
    payer = keeper(policy=policy)
    keeper.pay(payer)
    payer.told("warning")
    keeper.pay(payer, 2)
    (warning,) = (event.details["message"] for event in payer.events if event.type == "warning")
    expected = f"The top-up of USDC failed with {code}, and none is tried for 60 s."
    assert warning.startswith(expected)
    assert "swap" not in payer.signed


def test_makes_a_smaller_top_up_near_a_cap(sandbox: Sandbox, keeper: Keeper) -> None:
    price = int(sandbox.mints["SOL"]["picoUsd"])
    limit = {"amount": str(TO * 1_000_000 // price // 3), "mint": "SOL", "per": "day"}
    payer = keeper(policy={"limits": [limit]})
    keeper.pay(payer)
    payer.told("swap.confirmed")
    assert 4 * PRICE < payer.held() < TO
    keeper.pay(payer, 2)


def test_shows_approve_only_the_swap_of_a_top_up(sandbox: Sandbox, keeper: Keeper) -> None:
    plans: list[Any] = []

    def approve(plan: Any) -> bool:
        plans.append(plan)
        return True

    payer = keeper(policy={"approve": approve})
    keeper.pay(payer)
    payer.told("swap.confirmed")
    plan = plans[1]
    assert (plan.url, plan.method, plan.status) == (f"top-up:{sandbox.mint('USDC')}", "SWAP", 0)
    assert plan.payment is None and plan.swap is not None and plan.cost is not None


def test_leaves_an_unfinished_top_up_to_the_next_client(keeper: Keeper, tmp_path: Path) -> None:
    with file_journal(str(tmp_path / "payments.jsonl")) as journal:
        payer = keeper(journal=journal)
        keeper.hold_swaps()
        keeper.pay(payer)
        payer.told("swap.signed")
        payer.client.close()
        keeper.release_swaps()
        next_payer = keeper(journal=journal, wallet=payer.wallet)
        next_payer.client.resume()
        keeper.pay(next_payer, 2)
        until("the float is there", lambda: payer.held() > TO - BELOW)
        keeper.pay(next_payer, 2)
        next_payer.client.close()
    assert [*payer.signed, *next_payer.signed].count("swap") == 1


async def test_tops_up_on_an_event_loop(sandbox: Sandbox) -> None:
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
def test_refuses_a_wrong_top_up_option(
    change: Any, option: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    policy = {"top_up": {**TOP_UP, **change}}
    wallet = sandbox.wallet()
    error = failure_of(lambda: make_payer(wallet, auto_swap=True, policy=policy), "invalid_option")
    assert error.details["option"] == f"policy.top_up.{option}"
    error = failure_of(lambda: make_payer(wallet, policy={"top_up": TOP_UP}), "invalid_option")
    assert error.details["option"] == "policy.top_up"


def test_refuses_a_top_up_that_brings_less_than_agreed(sandbox: Sandbox, keeper: Keeper) -> None:
    """The difference is as small as payments that may leave while the swap lands."""
    payer = keeper()
    sandbox.call("venue", {"modes": [UNDERPAY], "amount": str(3 * PRICE)})
    keeper.pay(payer)
    payer.told("warning")
    (warning,) = (event.details["message"] for event in payer.events if event.type == "warning")
    assert "failed with unsafe_swap" in warning
    assert payer.held() == 4 * PRICE


# A loop that closes during a call leaves the connections of its client to garbage collection.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("garbage")
@pytest.mark.parametrize(
    ("kind", "is_same_journal"),
    [("memory", True), ("file", True), ("file", False), ("Postgres", True), ("Postgres", False)],
)
def test_pays_without_waiting_for_a_top_up_of_an_ended_event_loop(
    kind: str, is_same_journal: bool, sandbox: Sandbox, keeper: Keeper, tmp_path: Path
) -> None:
    """The client of the loop still exists, and must not keep the lock of swaps."""
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
    keeper.hold_swaps()

    async def pay_once() -> None:
        is_signed = asyncio.Event()
        client.on("swap.signed", lambda _: is_signed.set())
        assert (await client.get(url)).status_code == 200
        await is_signed.wait()

    asyncio.run(pay_once())
    keeper.release_swaps()
    other = journal if is_same_journal else journal_of(place)
    if other is not None:
        options["journal"] = other
    answers: list[int] = []

    def pay_on() -> None:
        with Client(**options) as paying_on:
            answers.extend(paying_on.get(url).status_code for _ in range(3))

    paying = threading.Thread(target=pay_on, daemon=True)
    paying.start()
    paying.join(60)
    assert answers == [200, 200, 200]
    for opened in {journal, other}:
        if opened is not None:
            opened.close()
