"""Payments in wrapped SOL."""

from __future__ import annotations

import json
from typing import Any, Iterator

import pytest

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..proxy import Proxy
from ..seller import Reply, Seen, offer, settle, terms


@pytest.fixture
def still_node(sandbox: Sandbox) -> Iterator[Proxy]:
    """A node that always answers with its first blockhash."""
    proxy = Proxy(sandbox.rpc_url)
    first: list[Any] = []

    def keep_first(answer: Any, seen: Seen) -> Any:
        if json.loads(seen.body)["method"] != "getLatestBlockhash":
            return answer
        first.append(answer["result"]["value"])
        answer["result"]["value"] = first[0]
        return answer

    proxy.lies["/"] = keep_first
    yield proxy
    proxy.close()


# 5,000 lamports leave no room for a priority fee.
@pytest.mark.parametrize("max_fee", ["250000", "5000"])
def test_wraps_sol_in_a_new_transaction_for_each_of_several_equal_payments(
    max_fee: str,
    sandbox: Sandbox,
    still_node: Proxy,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    wanted = offer(sandbox, "SOL", amount="4000000")

    def answer(seen: Seen) -> Reply:
        if seen.payment is None:
            return terms(wanted)
        settle(sandbox, seen, wanted)
        return Reply(200, {}, b"{}")

    seller = make_seller(answer)
    policy = {"min_swap": "0", "max_fee_lamports": max_fee}
    payer = make_payer(SOL="1", auto_swap=True, policy=policy, rpc_url=still_node.url)
    for number in range(3):
        assert payer.client.get(f"{seller.url}/{number}").status_code == 200
    wraps = [event for event in payer.events if event.type == "swap.signed"]
    assert len({event.details["signature"] for event in wraps}) == 3
    payer.told("payment.settled", 3)
