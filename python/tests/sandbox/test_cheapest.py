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
