"""The fault matrix of `test/chaos/matrix/cells.ts`: one fault at a node or Jupiter (rows 4 to 12).

Other files cover the other cells. Killed processes: `test_shared_journals.py`. Outcomes of a paid
request (rows 13 to 15): `test_after_payment.py`, `test_open_payments.py`, `test_resign.py`.
Parallel and repeated calls: `test_crowds.py`, `test_keys.py`. Journals (rows 3, 8, 16):
`test_journal_*.py`, `test_lost_records.py`. Lasting faults: `test_nodes.py`, `test_jupiter.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

from exact_change import ExactChangeError

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import PRICE, failure_of

STEPS = {
    "4 reading the balance": ("node", "getMultipleAccounts"),
    "4 reading the holdings": ("node", "getTokenAccountsByOwner"),
    "5 the quote": ("aggregator", "/swap/v1/quote"),
    "6 building the swap": ("aggregator", "/swap/v1/swap-instructions"),
    "7 simulation": ("node", "simulateTransaction"),
    "9 sending the swap": ("node", "sendTransaction"),
    "10 confirming the swap": ("node", "getSignatureStatuses"),
    "11 reading what the swap brought": ("node", "getTransaction"),
    "12 the blockhash of the payment": ("node", "getLatestBlockhash"),
}
FAULTS: dict[str, dict[str, Any]] = {
    "timeout": {"kind": "hang"},
    "429": {"kind": "status", "status": 429, "headers": {"retry-after": "0"}},
    "5xx": {"kind": "status", "status": 503},
    "malformed": {"kind": "garbage"},
    "lost response": {"kind": "dropAfter"},
}
LIMIT_MS = 4_000


@pytest.mark.parametrize("fault", list(FAULTS))
@pytest.mark.parametrize("step", list(STEPS))
def test_swaps_and_pays_only_once_despite_one_fault(
    step: str, fault: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    """The call pays, or it fails with untouched funds and its repeat pays."""
    # Only a peer that never answers meets the limits; other calls must end before them.
    timeouts = {"rpc": LIMIT_MS, "jupiter": LIMIT_MS} if fault == "timeout" else {}
    payer = make_payer(SOL="0.05", USDT="1", auto_swap=True, swap_from=["USDT"], timeouts=timeouts)
    url, before = f"{sandbox.api_url}/usdc", sandbox.balance(sandbox.merchant, "USDC")
    control, method = STEPS[step]

    def calls() -> int:
        filter_ = {"method": method} if control == "node" else method
        return int(sandbox.call(f"{control}.calls", filter_))

    calls_before = calls()
    sandbox.call(f"{control}.fault", method, {**FAULTS[fault], "times": 1})
    try:
        status = payer.client.get(url).status_code
    except ExactChangeError as error:
        assert (error.funds, error.moved, payer.signed) == ("untouched", (), [])
        status = payer.client.get(url).status_code
    assert calls() > calls_before
    payer.told("payment.settled")
    assert (status, payer.signed) == (200, ["swap", "payment"])
    assert sandbox.balance(sandbox.merchant, "USDC") - before == PRICE
    (receipt,) = payer.client.receipts()
    assert receipt.swap is not None
    assert payer.held() == int(receipt.swap.out_amount) - PRICE
    assert 1_000_000 - payer.held("USDT") <= int(receipt.swap.in_amount)


def test_raises_swap_failed_with_the_reason_why_no_second_swap_was_possible(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="0.05", USDT="1", auto_swap=True, swap_from=["USDT"])
    payer.client.on("swap.signed", lambda _: sandbox.call("venue", {"deviationBps": 80}))
    # A failed swap counts only once it is final, which takes 32 slots.
    payer.client.on("swap.signed", lambda _: sandbox.call("set", "node.slotMs", 100))
    refused = {"kind": "status", "status": 400}
    payer.client.on("swap.failed", lambda _: sandbox.call("aggregator.fault", "*", refused))
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "swap_failed")
    cause = error.__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == "jupiter_unavailable"
    assert (error.funds, error.moved, cause.funds) == ("untouched", (), "untouched")
    assert payer.held("USDT") == 1_000_000 and payer.signed == ["swap"]
