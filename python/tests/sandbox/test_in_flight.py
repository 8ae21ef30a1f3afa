"""Swaps while a payment from their accounts is in flight, which the guard may let land."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import Payer, failure_of
from ..seller import BOUGHT, offer, terms

# Mode of a venue that pays less: adapters/sandbox/venue/venue.mjs.
UNDERPAY = 6
HELD, TAKEN = 950_000, 900_000


class InFlight:
    """A payer with a payment in flight that takes all its USDC; its seller settles nothing."""

    def __init__(self, sandbox: Sandbox, payer: Payer, url: str) -> None:
        self.payer = payer
        self._sandbox = sandbox
        self._url = url
        self.buy()

    def buy(self) -> None:
        assert self.payer.client.get(self._url).text == "bought"

    def take(self) -> None:
        """Lets the venue take as much of the output as the payment in flight may take."""
        self._sandbox.call("venue", {"modes": [UNDERPAY], "amount": str(TAKEN)})

    def refuses(self, swap: Any) -> None:
        """Checks that a swap takes nothing while the venue takes the tokens."""
        self.take()
        assert failure_of(swap, "unsafe_swap").funds == "untouched"
        assert (self.payer.held(), self.payer.held("USDT")) == (HELD, 10_000_000)


@pytest.fixture
def in_flight(sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller) -> Any:
    asks = terms(offer(sandbox, amount=str(HELD)))
    seller = make_seller(lambda seen: BOUGHT if seen.is_paid else asks)

    def make(max_per_payment: str = "3.00", **policy: Any) -> InFlight:
        policy = {"max_per_payment": max_per_payment, "min_swap": "0", **policy}
        funds = {"SOL": "0.1", "USDC": "0.95", "USDT": "10"}
        payer = make_payer(auto_swap=True, swap_from=["USDT"], policy=policy, **funds)
        return InFlight(sandbox, payer, seller.url)

    return make


def test_must_bring_its_full_minimum_when_no_cap_has_room_for_the_payment_in_flight(
    sandbox: Sandbox, in_flight: Any
) -> None:
    flying = in_flight("1.00")
    flying.refuses(flying.buy)
    sandbox.call("restore")
    flying.buy()


def test_may_miss_what_the_caps_count(in_flight: Any) -> None:
    flying = in_flight()
    flying.take()
    # No advice to swap: it did.
    assert "auto_swap" not in str(failure_of(flying.buy, "insufficient_funds"))
    assert float(flying.payer.used) > (HELD + TAKEN) / 1e6


def test_must_bring_its_full_minimum_when_the_plan_with_it_was_approved(in_flight: Any) -> None:
    flying = in_flight(approve=lambda _: True)
    flying.refuses(flying.buy)


def test_brings_all_of_an_approved_top_up_though_the_venue_pretends_until_it_lands(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    top_up = {"token": "USDC", "below": "0.05", "to": "0.20"}
    policy = {"top_up": top_up, "approve": lambda _: True}
    rpc_url = f"{sandbox.rpc_url}/?caller=client"
    payer = make_payer(SOL="1", USDC="0.05", auto_swap=True, rpc_url=rpc_url, policy=policy)
    sandbox.call("node.fault", "sendTransaction", {"kind": "neverLands"}, "client")
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
    payer.told("swap.signed")
    sandbox.call("venue", {"modes": [UNDERPAY], "amount": "30000"})
    sandbox.call("node.clearFaults")
    # A failed swap counts only once it is final, which takes 32 slots.
    sandbox.call("set", "node.slotMs", 100)
    payer.told("swap.failed")
    assert payer.held() == 40_000
