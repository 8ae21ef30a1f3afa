"""Transactions that are too old for the history of any node."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from exact_change import file_journal

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import Payer, failure_of, until
from ..seller import offer, terms

# In blocks and slots.
MORE_THAN_A_DAY = 220_000
DAY_AND_AN_HOUR_NS = 25 * 3_600 * 10**9


def forget_history(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves time on by more than a day, and deletes the earlier blocks of the node."""
    sandbox.call("node.warp", MORE_THAN_A_DAY)
    gap = {"kind": "offBy", "at": "", "by": 1e12}
    sandbox.call("node.fault", "getFirstAvailableBlock", gap)
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + DAY_AND_AN_HOUR_NS)


def test_frees_the_tokens_of_a_payment_that_no_node_remembers(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seller = make_seller(lambda seen: None if seen.is_paid else terms(offer(sandbox)))
    with file_journal(tmp_path / "journal") as journal:
        payer = make_payer(USDC="0.01", journal=journal)
        failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
        payer.client.close()
        forget_history(sandbox, monkeypatch)
        later = Payer(sandbox, payer.wallet, journal=journal)
        with later.client as client:
            assert client.get(f"{sandbox.api_url}/usdc").status_code == 200
            later.told("payment.settled")


def test_swaps_in_a_later_call_when_no_node_remembers_an_earlier_swap(
    sandbox: Sandbox, make_payer: MakePayer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{sandbox.api_url}/usdc"
    with file_journal(tmp_path / "journal") as journal:
        payer = make_payer(SOL="1", auto_swap=True, journal=journal)
        sandbox.call("node.fault", "sendTransaction", {"kind": "neverLands"})
        with ThreadPoolExecutor(1) as pool:
            lost = pool.submit(payer.client.get, url)
            payer.told("swap.signed")
            payer.client.close()
            failure_of(lost.result, "swap_uncertain")
        # Only now: the client may have been closed before it sent the swap.
        sandbox.call("node.clearFaults")
        forget_history(sandbox, monkeypatch)
        later = Payer(sandbox, payer.wallet, auto_swap=True, journal=journal)
        with later.client as client:
            assert client.get(url).status_code == 200
            swaps = [row for row in client.spent() if row.unit == "USD"]
            until("the lost swap counts", lambda: float(swaps[0].used) > 0.02)
