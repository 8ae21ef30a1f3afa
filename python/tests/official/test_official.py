"""Sellers and facilitator of the official x402 package, on the sandbox."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Iterator, Mapping

import httpx
import pytest

from exact_change import AsyncClient, receipt_of

from ..conftest import MakePayer
from ..node import Sandbox, Wallet
from ..payer import PRICE
from ..spec import ROOT

pytestmark = pytest.mark.official
PYTHON = ROOT / "python" / ".venv-official" / ("Scripts" if os.name == "nt" else "bin") / "python"


class Sellers:
    """The URLs of the sellers, and the wallet that they earn for."""

    def __init__(self, sandbox: Sandbox, urls: Mapping[str, str], earner: Wallet) -> None:
        self._sandbox = sandbox
        self.urls = urls
        self._earner = earner

    @property
    def earned(self) -> int:
        return self._sandbox.balance(self._earner.address, "USDC")


@pytest.fixture(scope="module")
def sellers(whole_sandbox: Sandbox) -> Iterator[Sellers]:
    earner = whole_sandbox.wallet(USDC="1")
    environment = {
        **os.environ,
        "RPC_URL": whole_sandbox.rpc_url,
        "FEE_PAYER": whole_sandbox.wallet(SOL="1").secret_key,
        "PAY_TO": earner.address,
    }
    process = subprocess.Popen(
        [str(PYTHON), str(Path(__file__).with_name("sellers.py"))],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    yield Sellers(whole_sandbox, json.loads(process.stdout.readline()), earner)
    process.stdin.close()
    process.wait(60)
    process.stdout.close()


@pytest.mark.parametrize("kind", ["fastapi", "flask"])
def test_pays_an_official_seller_once_for_each_call_after_a_swap(
    kind: str, sellers: Sellers, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="1", auto_swap=True)
    before = sellers.earned
    url = f"{sellers.urls[kind]}/premium"
    answers = [payer.client.get(url), payer.client.post(url, json={"q": 1})]
    for response in answers:
        assert (response.status_code, response.json()) == (200, {"ok": True})
        receipt = payer.client.settled(response, timeout=60)
        assert receipt is not None and receipt.state == "settled"
        assert receipt.settlement is not None and receipt.settlement.success
        assert receipt.payment.signature == receipt.settlement.transaction
    assert payer.signed == ["swap", "payment", "payment"]
    assert sellers.earned - before == 2 * PRICE


def test_makes_one_payment_for_each_parallel_call_on_an_event_loop(
    sandbox: Sandbox, sellers: Sellers
) -> None:
    before = sellers.earned
    wallet = sandbox.wallet(USDC="1")

    async def crowd() -> None:
        async with AsyncClient(**sandbox.options(wallet)) as client:
            calls = [client.get(f"{sellers.urls['fastapi']}/premium") for _ in range(8)]
            responses = await asyncio.gather(*calls)
            assert {response.status_code for response in responses} == {200}
            receipts = [receipt_of(response) for response in responses]
            paid = [receipt.payment for receipt in receipts if receipt is not None]
            assert len({payment.payer_signature for payment in paid}) == 8

    asyncio.run(crowd(), debug=True)
    assert sellers.earned - before == 8 * PRICE
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 8 * PRICE


def test_returns_a_redirect_of_the_paid_request(sellers: Sellers, make_payer: MakePayer) -> None:
    payer = make_payer(USDC="1")
    response = payer.client.get(f"{sellers.urls['fastapi']}/moved", follow_redirects=True)
    assert response.status_code == 307
    assert payer.signed == ["payment"]


def test_signs_no_second_payment_after_a_failed_answer(
    sellers: Sellers, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    before = sellers.earned
    response = payer.client.get(f"{sellers.urls['fastapi']}/fails")
    assert response.status_code == 500
    assert payer.signed == ["payment"]
    # The official middleware settles nothing for an answer that failed.
    assert sellers.earned == before
    assert payer.used == "0.01"


def test_buys_up_to_the_cap_in_the_fastapi_example(sandbox: Sandbox) -> None:
    folder = ROOT / "python"
    environment = {**sandbox.environment(), "PYTHONPATH": str(folder / "src"), "PORT": "0"}
    process = subprocess.Popen(
        [str(PYTHON), "fastapi_app.py"],
        cwd=folder / "examples",
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        found = (re.search(r"http://[0-9.:]+", line) for line in process.stderr)
        url = next(match[0] for match in found if match is not None)
        reports = [httpx.get(f"{url}/report", timeout=60) for _ in range(6)]
        assert [report.status_code for report in reports] == [200] * 5 + [503]
        assert reports[0].json()["report"]["ok"] is True and reports[0].json()["cost_usd"] == "0.01"
        detail = reports[5].json()["detail"]
        assert (detail["code"], detail["funds"]) == ("budget_exhausted", "untouched")
        (day, _) = httpx.get(f"{url}/spent").json()
        assert (day["used"], day["limit"]) == ("0.05", "0.05")
    finally:
        process.terminate()
        process.communicate(timeout=60)
