"""Which token a payment is swapped from."""

from __future__ import annotations

from typing import Any

import pytest

from exact_change import receipt_of
from exact_change._kernel.hosts import threads
from exact_change._kernel.signals import Aborted, Signal
from exact_change._kernel.steps import done, park
from exact_change._kernel.task import Steps
from exact_change._payments.cheapest import Tried, find_together
from exact_change._payments.funds import Funding
from exact_change._swap.candidates import Candidate
from exact_change.errors import failure

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import failure_of
from ..proxy import Proxy

# All of the SOL is kept for fees and rent.
HELD = {"SOL": "0.008", "USDT": "5", "BONK": "1000000"}
DEAR_DOLLARS = [("USDT", 80), ("PYUSD", 80)]


@pytest.mark.parametrize(
    ("impacts", "gone", "options", "symbol"),
    [
        pytest.param([], [], {}, "USDT", id="what there is most of, if all cost the same"),
        pytest.param([("USDT", 60), ("SOL", 60)], [], {}, "PYUSD", id="the cheaper dollar"),
        pytest.param(DEAR_DOLLARS, [], {}, "SOL", id="SOL, if each dollar costs more"),
        pytest.param([("USDT", 80)], ["SOL", "PYUSD"], {}, "USDT", id="what has a route"),
        pytest.param(
            DEAR_DOLLARS, [], {"swap_from": ["USDT", "SOL"]}, "USDT", id="the caller's order"
        ),
    ],
)
def test_a_payment_is_swapped_from(
    impacts: Any,
    gone: list[str],
    options: Any,
    symbol: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
) -> None:
    for token, bps in impacts:
        sandbox.call("aggregator.setPriceImpact", token, "USDC", bps)
    for token in gone:
        sandbox.call("aggregator.noRoute", token, "USDC")
    payer = make_payer(SOL="1", USDT="5", PYUSD="1", auto_swap=True, **options)
    url = f"{sandbox.api_url}/usdc"
    plan = payer.client.plan(url)
    receipt = receipt_of(payer.client.get(url))
    assert plan.swap is not None and receipt is not None and receipt.swap is not None
    assert plan.swap.input_mint == receipt.swap.input_mint == sandbox.mint(symbol)


def test_a_token_that_is_not_pinned_comes_first_if_all_that_are_pinned_cost_more(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    """And no more for a while, once a swap out of it came to nothing."""
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


def test_others_are_not_asked_about_if_what_is_pinned_costs_little(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    jupiter = Proxy(sandbox.jupiter_url)
    try:
        payer = make_payer(auto_swap=True, jupiter_url=jupiter.url, **HELD)
        receipt = receipt_of(payer.client.get(f"{sandbox.api_url}/usdc"))
        payer.client.close()
    finally:
        jupiter.close()
    assert receipt is not None and receipt.swap is not None
    assert receipt.swap.input_mint == sandbox.mint("USDT")
    paths = [one.path for one in jupiter.seen]
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


def test_a_quote_that_never_comes_keeps_no_swap_waiting() -> None:
    tried = threads.run(find_together([done(NONE), never(), done(SWAP)], None))
    assert tried == [NONE, SWAP]


def test_an_outage_ends_the_search_only_if_nothing_was_found() -> None:
    assert threads.run(find_together([outage(), done(SWAP)], None)) == [SWAP]
    with pytest.raises(TimeoutError):
        threads.run(find_together([done(NONE), outage()], None))


def test_a_caller_that_gives_up_ends_it() -> None:
    signal = Signal()
    signal.abort()
    with pytest.raises(Aborted):
        threads.run(find_together([never()], signal))
