"""Caps that have no room for a call while a top-up counts against them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest

from exact_change import Client, file_journal
from exact_change._payments import once_topped_up
from exact_change._payments.landing import swap_lock

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import failure_of, until
from ..seller import offer, selling

TOP_UP: Any = {"token": "USDC", "below": "0.05", "to": "0.20"}
Call = Callable[[Client, str], Any]


def swap(client: Client, _: str) -> Any:
    return client.swap(input_mint="SOL", output_mint="USDT", ui_amount="0.001", counted=True)


@pytest.mark.parametrize(
    ("room", "call"),
    [
        pytest.param(0.005, lambda client, url: client.get(url), id="a payment without room"),
        pytest.param(0.0105, lambda client, url: client.get(url), id="a payment, but no swap"),
        pytest.param(0.0002, swap, id="a counted swap"),
        pytest.param(0.005, lambda client, url: client.plan(url), id="a plan without room"),
        pytest.param(0.0105, lambda client, url: client.plan(url), id="a plan, but no swap"),
    ],
)
def test_waits_for_a_top_up_that_counts_against_the_caps(
    room: float,
    call: Call,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    seller = make_seller(selling(sandbox, offer(sandbox, "USDT")))
    waits = threading.Event()

    def noted(mint: Any) -> str:
        waits.set()
        return swap_lock(mint)

    monkeypatch.setattr(once_topped_up, "swap_lock", noted)
    policy: Any = {"top_up": TOP_UP, "min_swap": "0.01"}
    with file_journal(str(tmp_path / "payments.jsonl")) as journal:
        options: Any = {
            "auto_swap": True,
            "journal": journal,
            "rpc_url": f"{sandbox.rpc_url}/?caller=client",
        }
        payer = make_payer(SOL="1", USDC="0.05", USDT="0.001", policy=policy, **options)
        sandbox.call("node.fault", "sendTransaction", {"kind": "neverLands"}, "client")
        assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
        payer.told("swap.signed")
        day = {**policy, "max_per_day": f"{float(payer.used) + room:.6f}"}
        other = make_payer(payer.wallet, policy=day, **options)

        with ThreadPoolExecutor() as threads:
            calling = threads.submit(call, other.client, seller.url)
            # A call that does not wait has failed by then.
            calling.add_done_callback(lambda _: waits.set())
            waits.wait()
            sandbox.call("node.clearFaults")
        assert calling.result() is not None
        payer.client.close()
        other.client.close()


def test_asks_approve_once_for_each_size_of_a_swap_without_room_if_no_top_up_counts(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(selling(sandbox, offer(sandbox, "USDT")))
    sizes: list[Any] = []

    def approve(plan: Any) -> bool:
        sizes.append(plan.swap.min_out_amount)
        return True

    policy: Any = {
        "top_up": TOP_UP,
        "max_per_day": "0.0105",
        "min_swap": "0.01",
        "approve": approve,
    }
    payer = make_payer(SOL="1", USDC="1", USDT="0.001", auto_swap=True, policy=policy)
    failure_of(lambda: payer.client.get(seller.url), "budget_exhausted")
    assert len(sizes) == len(set(sizes)) > 0


def test_counts_a_top_up_at_its_cost_once_a_node_gives_the_transaction(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    policy: Any = {"top_up": TOP_UP, "min_swap": "0.01"}
    rpc_url = f"{sandbox.rpc_url}/?caller=client"
    payer = make_payer(SOL="1", USDC="0.05", auto_swap=True, policy=policy, rpc_url=rpc_url)
    sandbox.call("node.fault", "getTransaction", {"kind": "status", "status": 500}, "client")
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
    payer.told("swap.confirmed")
    # All USDC of the wallet may be missing.
    assert float(payer.used) > 0.05
    sandbox.call("node.clearFaults")
    until("the bound is over", lambda: float(payer.used) < 0.02)
