"""A swap that cannot be written to the journal."""

from __future__ import annotations

import pytest

from exact_change._journal.along import AlongMemory
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
