"""A clock that is set back."""

from __future__ import annotations

import time

import pytest

from ..conftest import MakePayer
from ..node import Sandbox

MONTH_NS = 30 * 24 * 60 * 60 * 10**9


def test_a_top_up_that_failed_while_it_was_ahead_keeps_no_other_back(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = {"top_up": {"token": "USDC", "below": "0.05", "to": "0.20"}}
    payer = make_payer(SOL="1", USDC="0.05", auto_swap=True, policy=policy)
    url, now = f"{sandbox.api_url}/usdc", time.time_ns
    sandbox.call("aggregator.noRoute", "SOL", "USDC")
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: now() + MONTH_NS)
        assert payer.client.get(url).status_code == 200
        payer.told("warning")
    sandbox.call("aggregator.restore")
    assert payer.client.get(url).status_code == 200
    payer.told("swap.confirmed")
