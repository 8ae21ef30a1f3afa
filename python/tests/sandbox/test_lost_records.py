"""A swap that the journal cannot record, or whose end it cannot."""

from __future__ import annotations

import pytest

from exact_change._journal.along import AlongMemory
from exact_change._journal.ledger import Ledger
from exact_change._journal.types import ALONE, Along, Attempt
from exact_change._kernel.task import Steps
from exact_change.errors import failure

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import failure_of


def test_never_sends_a_swap_whose_journal_write_failed(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record exists all the same, but the error told the caller that funds are untouched."""
    payer = make_payer(SOL="0.1", USDT="5", auto_swap=True, swap_from=["USDT"])
    put = AlongMemory.put
    lost: list[str] = []

    def put_and_fail(self: AlongMemory, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
        yield from put(self, attempt, along)
        if "swap" in attempt and not lost:
            lost.append(attempt["id"])
            raise failure("journal_unavailable", "It was written all the same.", {"reason": ""})

    monkeypatch.setattr(AlongMemory, "put", put_and_fail)
    url = f"{sandbox.api_url}/usdc"
    error = failure_of(lambda: payer.client.get(url), "journal_unavailable")
    assert (error.funds, payer.signed) == ("untouched", [])
    assert payer.client.get(url).status_code == 200
    # The repeat signs a new swap.
    assert payer.signed == ["swap", "payment"]


def fail_after_swap(monkeypatch: pytest.MonkeyPatch, times: int) -> list[str]:
    """Fails the write of the balance after a swap, and then until so many writes have failed.

    Returns the accounts whose writes have failed.
    """
    see, forget = Ledger.see, Ledger.forget
    lost: list[str] = []

    def lose(account: str) -> None:
        lost.append(account)
        raise failure("journal_unavailable", "The disk failed.", {"reason": ""})

    def see_or_fail(
        self: Ledger, account: str, amount: int, at: int, slot: int | None = None, moved: int = 0
    ) -> Steps[None]:
        # Only after a swap is it known what came in.
        if moved != 0 and not lost:
            lose(account)
        yield from see(self, account, amount, at, slot, moved)

    def forget_or_fail(self: Ledger, account: str) -> Steps[None]:
        if 0 < len(lost) < times:
            lose(account)
        yield from forget(self, account)

    monkeypatch.setattr(Ledger, "see", see_or_fail)
    monkeypatch.setattr(Ledger, "forget", forget_or_fail)
    return lost


@pytest.mark.parametrize("times", [1, 3])
def test_swaps_once_when_the_writes_after_the_swap_fail(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    payer = make_payer(SOL="0.1", USDT="5", auto_swap=True, swap_from=["USDT"])
    lost = fail_after_swap(monkeypatch, times)
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
    assert (len(lost), payer.signed) == (times, ["swap", "payment"])


def test_swaps_once_when_the_writes_after_a_swap_of_the_caller_fail(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = make_payer(SOL="0.1", USDT="5", USDC="0.01", auto_swap=True, swap_from=["USDT"])
    # The journal now knows a balance that is too little for another call.
    assert payer.client.get(f"{sandbox.api_url}/usdc?1").status_code == 200
    lost = fail_after_swap(monkeypatch, 3)
    payer.client.swap(input_mint="USDT", output_mint="USDC", ui_amount="0.1")
    assert payer.client.get(f"{sandbox.api_url}/usdc?2").status_code == 200
    assert (len(lost), payer.signed) == (3, ["payment", "swap", "payment"])
