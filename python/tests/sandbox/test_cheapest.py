"""The choice of the token that a payment is swapped from."""

from __future__ import annotations

import time
from typing import Any, Iterator

import pytest

from exact_change import receipt_of
from exact_change._kernel.hosts import threads
from exact_change._kernel.signals import Aborted, Signal
from exact_change._kernel.steps import done, park
from exact_change._kernel.task import Steps
from exact_change._payments import cheapest
from exact_change._payments.cheapest import Tried, find_together
from exact_change._payments.funds import Funding
from exact_change._swap.candidates import Candidate
from exact_change.errors import failure

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import failure_of
from ..proxy import Proxy
from ..seller import Reply, offer, selling

# The SOL is only enough for fees and rent.
HELD = {"SOL": "0.008", "USDT": "5", "BONK": "1000000"}
EXPENSIVE_DOLLARS = [("USDT", 80), ("PYUSD", 80)]


@pytest.fixture
def jupiter(sandbox: Sandbox) -> Iterator[Proxy]:
    """A proxy of Jupiter."""
    proxy = Proxy(sandbox.jupiter_url)
    yield proxy
    proxy.close()


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets clients wait for all quotes, for which a busy machine may need longer."""
    monkeypatch.setattr(cheapest, "_PATIENCE_MS", 60_000)


@pytest.mark.parametrize(
    ("impacts", "unroutable", "options", "symbol"),
    [
        pytest.param([], [], {}, "USDT", id="the largest balance if all cost the same"),
        pytest.param([("USDT", 60), ("SOL", 60)], [], {}, "PYUSD", id="the cheaper dollar"),
        pytest.param(EXPENSIVE_DOLLARS, [], {}, "SOL", id="SOL if each dollar costs more"),
        pytest.param(
            [("USDT", 80)], ["SOL", "PYUSD"], {}, "USDT", id="the only token with a route"
        ),
        pytest.param(
            EXPENSIVE_DOLLARS,
            [],
            {"swap_from": ["USDT", "SOL"]},
            "USDT",
            id="the first token of swap_from",
        ),
    ],
)
def test_plans_and_swaps_a_payment_from(
    impacts: Any,
    unroutable: list[str],
    options: Any,
    symbol: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    be_patient(monkeypatch)
    for token, bps in impacts:
        sandbox.call("aggregator.setPriceImpact", token, "USDC", bps)
    for token in unroutable:
        sandbox.call("aggregator.noRoute", token, "USDC")
    payer = make_payer(SOL="1", USDT="5", PYUSD="1", auto_swap=True, **options)
    url = f"{sandbox.api_url}/usdc"
    plan = payer.client.plan(url)
    receipt = receipt_of(payer.client.get(url))
    assert plan.swap is not None and receipt is not None and receipt.swap is not None
    assert plan.swap.input_mint == receipt.swap.input_mint == sandbox.mint(symbol)


def test_prefers_an_unpinned_token_if_it_is_cheaper_until_a_swap_from_it_fails(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(monkeypatch)
    url = f"{sandbox.api_url}/usdc"
    sandbox.call("aggregator.setPriceImpact", "USDT", "USDC", 80)
    receipt = receipt_of(make_payer(auto_swap=True, **HELD).client.get(url))
    assert receipt is not None and receipt.swap is not None
    assert receipt.swap.input_mint == sandbox.mint("BONK")
    payer = make_payer(auto_swap=True, **HELD)
    sandbox.call("venue", {"deviationBps": 80})
    failure_of(lambda: payer.client.get(url), "simulation_failed")
    sandbox.call("venue", {})
    receipt = receipt_of(payer.client.get(url))
    assert receipt is not None and receipt.swap is not None
    assert receipt.swap.input_mint == sandbox.mint("USDT")


def test_requests_no_quote_for_unpinned_tokens_if_a_pinned_token_is_cheap(
    sandbox: Sandbox, make_payer: MakePayer, jupiter: Proxy
) -> None:
    payer = make_payer(auto_swap=True, jupiter_url=jupiter.url, **HELD)
    receipt = receipt_of(payer.client.get(f"{sandbox.api_url}/usdc"))
    assert receipt is not None and receipt.swap is not None
    assert receipt.swap.input_mint == sandbox.mint("USDT")
    paths = [request.path for request in jupiter.seen]
    assert paths and not any(sandbox.mint("BONK") in path for path in paths)


CANDIDATE = Candidate("", 0)
SWAP = Tried(CANDIDATE, Funding("", 1, 1))
NONE = Tried(CANDIDATE, failure("no_route", "There is none.", {}))


def never() -> Steps[Tried]:
    yield park(lambda _host, _wake: [])
    return NONE


def outage() -> Steps[Tried]:
    raise TimeoutError
    yield


def test_returns_a_swap_without_waiting_for_a_quote_that_never_comes() -> None:
    tried = threads.run(find_together([done(NONE), never(), done(SWAP)], None))
    assert tried == [NONE, SWAP]


def test_raises_an_outage_only_if_no_swap_was_found() -> None:
    assert threads.run(find_together([outage(), done(SWAP)], None)) == [SWAP]
    with pytest.raises(TimeoutError):
        threads.run(find_together([done(NONE), outage()], None))


def test_ends_the_search_when_the_caller_gives_up() -> None:
    signal = Signal()
    signal.abort()
    with pytest.raises(Aborted):
        threads.run(find_together([never()], signal))


def stop_clock(monkeypatch: pytest.MonkeyPatch, later_ns: int = 0) -> None:
    """Stops the clock, so that no time passes on a busy machine."""
    now = time.time_ns() + later_ns
    monkeypatch.setattr(time, "time_ns", lambda: now)


def pass_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the clock past the time for which a pinned token without a price is not asked for."""
    stop_clock(monkeypatch, 5_001_000_000)


def test_swaps_five_seconds_after_a_token_of_the_client_had_no_route(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer, url = make_payer(SOL="1", auto_swap=True), f"{sandbox.api_url}/usdc"
    sandbox.call("aggregator.noRoute", "*", "*")
    error = failure_of(lambda: payer.client.get(url), "no_route")
    mints = sandbox.mint("SOL"), sandbox.mint("USDC")
    assert (error.details["input_mint"], error.details["output_mint"]) == mints
    sandbox.call("aggregator.restoreMarkets")
    pass_five_seconds(monkeypatch)
    assert payer.client.get(url).status_code == 200


@pytest.mark.parametrize(
    ("symbol", "amount"),
    [
        pytest.param("SOL", "1000000", id="of the offer"),
        pytest.param("PYUSD", "10000", id="of the input"),
    ],
)
def test_raises_an_error_to_try_again_for_sol_without_a_price(
    symbol: str,
    amount: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for dollar in ("USDC", "USDT"):
        sandbox.call("aggregator.noRoute", "SOL", dollar)
    payer = make_payer(SOL="1", auto_swap=True)
    seller = make_seller(selling(sandbox, offer(sandbox, symbol, amount)))
    error = failure_of(lambda: payer.client.get(seller.url), "price_unknown")
    assert (error.details["mint"], error.retry) == (sandbox.mint("SOL"), "fresh")
    assert "Try again" in str(error)
    sandbox.call("aggregator.restoreMarkets")
    pass_five_seconds(monkeypatch)
    assert payer.client.get(seller.url).status_code == 200


def test_asks_once_in_five_seconds_for_a_price_of_sol_that_has_no_route(
    sandbox: Sandbox, make_payer: MakePayer, jupiter: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for dollar in ("USDC", "USDT"):
        sandbox.call("aggregator.noRoute", "SOL", dollar)
    policy = {"min_swap": "0.01"}
    payer = make_payer(**HELD, jupiter_url=jupiter.url, auto_swap=True, policy=policy)

    def pays_asking() -> int:
        jupiter.seen.clear()
        assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
        return sum(f"inputMint={sandbox.mint('SOL')}" in seen.path for seen in jupiter.seen)

    stop_clock(monkeypatch)
    assert pays_asking() > 0
    assert pays_asking() == 0
    pass_five_seconds(monkeypatch)
    assert pays_asking() > 0


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ({"max_per_payment": "0.1"}, "amount_over_limit"),
        ({"limits": [{"usd": "0.1", "per": "payment"}]}, "amount_over_limit"),
        ({"max_per_day": "0.1"}, "budget_exhausted"),
        ({"max_per_day": "0.005"}, "budget_exhausted"),
        ({"max_per_host": {"127.0.0.1": "0.1"}}, "budget_exhausted"),
        ({"limits": [{"swaps": 0, "per": "day"}]}, "budget_exhausted"),
        ({"max_lamports_per_day": "1000"}, "budget_exhausted"),
        ({"max_fee_lamports": "1000"}, "fees_over_limit"),
    ],
)
def test_raises_the_error_of_the_call_for_a_plan_above_a_cap(
    policy: Any, code: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer, url = make_payer(SOL="1", auto_swap=True, policy=policy), f"{sandbox.api_url}/usdc"
    failure_of(lambda: payer.client.plan(url), code)
    failure_of(lambda: payer.client.get(url), code)
    assert payer.signed == []


def test_plans_a_payment_whose_call_takes_less_than_the_plan_shows(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="1", auto_swap=True, policy={"max_per_payment": "0.33"})
    url = f"{sandbox.api_url}/usdc"
    cost = payer.client.plan(url).cost
    assert cost is not None and float(cost.usd or 0) > 0.33
    assert payer.client.get(url).status_code == 200


def test_plans_a_payment_that_the_call_makes_though_jupiter_fails_to_price_sol(
    sandbox: Sandbox, make_payer: MakePayer, jupiter: Proxy
) -> None:
    forward, failing = jupiter.answer, f"inputMint={sandbox.mint('SOL')}"
    jupiter.answer = lambda seen: Reply(500) if failing in seen.path else forward(seen)
    policy = {"max_in_amount": {"USDT": "5000000"}}
    payer = make_payer(SOL="0.1", USDT="5", jupiter_url=jupiter.url, auto_swap=True, policy=policy)
    swap = payer.client.plan(f"{sandbox.api_url}/usdc").swap
    assert swap is not None and swap.input_mint == sandbox.mint("USDT")
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
