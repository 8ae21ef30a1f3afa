"""The fate of a relayed swap, decided by the same process or by another process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from exact_change import Client

from ..buyer import ended, journal_of, start
from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import Payer, until
from .test_shared_journals import KINDS, is_killed, place_of

HELD = 5_000_000


def payer_without_sol(sandbox: Sandbox, make_payer: MakePayer) -> Payer:
    return make_payer(USDT="5", auto_swap=True, relayer={"url": sandbox.relayer_url})


def test_finds_a_swap_that_the_relayer_signed_again_and_sent_under_another_id(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    sandbox.call("resignRelayed")
    payer = payer_without_sol(sandbox, make_payer)
    swapped = payer.client.swap(input_mint="USDT", output_mint="USDC", ui_amount="1")
    (signed,) = (event.details for event in payer.events if event.type == "swap.signed")
    # The transaction that the client sent never landed.
    assert swapped.signature != signed["signature"]
    assert (HELD - payer.held("USDT"), payer.held()) == (
        int(swapped.in_amount),
        int(swapped.out_amount),
    )
    assert swapped.relay_fee is not None
    assert (payer.seen("swap.confirmed"), payer.held("SOL")) == (1, 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("first", "second"), [("python", "node"), ("node", "python"), ("node", "asyncio")]
)
def test_lands_a_signed_swap_of_a_killed_process_once_in_the_other_language(
    kind: str, first: str, second: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    """The kill comes after the swap is on record and before it is sent, in a shared journal."""
    place = place_of(kind, sandbox, tmp_path)
    wallet = sandbox.wallet(USDT="5")
    options = sandbox.options(wallet, auto_swap=True, relayer={"url": sandbox.relayer_url})
    task: dict[str, Any] = {**place, "options": options, "seed": 1, "inHow": 1e9}
    task["urls"] = [f"{sandbox.api_url}/usdc"]
    assert is_killed(start(sandbox, first, {**task, "kill": ["event", "swap.signed"]}))
    assert (sandbox.balance(wallet.address, "USDT"), signed(sandbox)) == (HELD, 1)
    assert ended(start(sandbox, second, task)) == ["answered"]
    journal = journal_of(place)
    with journal, Client(**options, journal=journal) as client:

        def is_settled() -> bool:
            client.resume()
            return [receipt.state for receipt in client.receipts()] == ["settled"]

        until("the payment is settled", is_settled)
        (receipt,) = client.receipts()
        spent = {use.cap: use.used for use in client.spent()}
    swap = receipt.swap
    assert swap is not None and swap.relay_fee is not None
    # The second process sent the swap that the first process signed.
    assert signed(sandbox) == 1
    assert HELD - sandbox.balance(wallet.address, "USDT") == int(swap.in_amount)
    assert sandbox.balance(wallet.address, "USDC") == int(swap.out_amount) - 10_000
    assert sandbox.balance(wallet.address, "SOL") == 0
    # Exactly one swap and one payment count, and no lamports.
    assert float(spent["max_per_day"]) < 0.52
    assert spent["max_lamports_per_day"] == "0"


@pytest.mark.parametrize("language", ["python", "node"])
def test_reports_the_relay_fee_of_a_process_that_was_killed_before_its_payment(
    language: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    place = place_of("file", sandbox, tmp_path)
    wallet = sandbox.wallet(USDT="5")
    options = sandbox.options(wallet, auto_swap=True, relayer={"url": sandbox.relayer_url})
    task: dict[str, Any] = {**place, "options": options, "seed": 1, "inHow": 1e9}
    task["urls"] = [f"{sandbox.api_url}/usdc"]
    assert is_killed(start(sandbox, language, {**task, "kill": ["event", "swap.confirmed"]}))
    journal = journal_of(place)
    with journal, Client(**options, journal=journal) as client:
        (freed,) = client.resume()
    assert freed.state == "unpaid" and freed.swap is not None
    assert freed.swap.relay_fee is not None
    assert HELD - sandbox.balance(wallet.address, "USDT") == int(freed.swap.in_amount)


def signed(sandbox: Sandbox) -> int:
    """Returns the number of transactions that the relayer signed."""
    return len(sandbox.call("relayer")["signed"])


KILLED = """
import json, os, signal, sys
from exact_change import Client, file_journal
task = json.loads(sys.argv[1])

class Dying:
    address = task["address"]
    def sign_message(self, message, intent):
        os.kill(os.getpid(), signal.SIGKILL)

with file_journal(task["path"]) as journal:
    Client(**task["options"], signer=Dying(), journal=journal).get(task["url"])
"""


def test_costs_nothing_when_the_process_is_killed_before_its_wallet_signs(
    sandbox: Sandbox, make_payer: MakePayer, tmp_path: Path
) -> None:
    """The relayer signed, but the swap cannot land without the signature of the wallet."""
    wallet, path = sandbox.wallet(USDT="5"), str(tmp_path / "journal")
    options = sandbox.options(wallet, auto_swap=True, relayer={"url": sandbox.relayer_url})
    keyless = {name: value for name, value in options.items() if name != "wallet_secret_key"}
    url = f"{sandbox.api_url}/usdc"
    task = {"options": keyless, "address": wallet.address, "path": path, "url": url}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps(task)], check=False, timeout=300
    )
    assert killed.returncode == -signal.SIGKILL
    assert (signed(sandbox), sandbox.balance(wallet.address, "USDT")) == (1, HELD)
    with journal_of({"path": path}) as journal:
        payer = make_payer(
            wallet, auto_swap=True, relayer={"url": sandbox.relayer_url}, journal=journal
        )
        receipt = payer.client.settled(payer.client.get(url), timeout=60)
        assert receipt is not None and receipt.state == "settled" and receipt.swap is not None
        assert signed(sandbox) == 2
        assert HELD - payer.held("USDT") == int(receipt.swap.in_amount)
        # One swap and one payment count, so the killed attempt reserves nothing.
        assert float(payer.used) < 0.52
        payer.client.close()
