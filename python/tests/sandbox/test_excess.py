"""Lamports that lie in a token account of a swap beyond its rent."""

from __future__ import annotations

import base64
import json
from typing import Any

from solders.transaction import VersionedTransaction

from exact_change._base.network import TOKEN_PROGRAM
from exact_change._solana.tokens import associated_token_address

from ..conftest import MakePayer
from ..node import Sandbox
from ..proxy import Proxy
from ..seller import Seen

WITHDRAW_EXCESS = b"\x26"


def as_older_program(answer: Any, seen: Seen) -> Any:
    """Answers as a node with a token program that is older than the withdrawal."""
    asked = json.loads(seen.body)
    if asked["method"] != "simulateTransaction":
        return answer
    wire = base64.b64decode(asked["params"][0])
    calls = VersionedTransaction.from_bytes(wire).message.instructions
    at = next((at for at, call in enumerate(calls) if call.data == WITHDRAW_EXCESS), None)
    if at is not None:
        answer["result"]["value"].update(err={"InstructionError": [at, {"Custom": 12}]})
    return answer


def test_a_lamport_of_a_stranger_stops_no_swap_where_the_token_program_is_older(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    proxy = Proxy(sandbox.rpc_url)
    proxy.lies["/"] = as_older_program
    payer = make_payer(SOL="0.5", USDT="5", auto_swap=True, swap_from=["USDT"], rpc_url=proxy.url)
    account = associated_token_address(payer.wallet.address, sandbox.mint("USDT"), TOKEN_PROGRAM)
    sandbox.call("fundSol", account, "1")
    try:
        assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
    finally:
        proxy.close()
    assert payer.signed == ["swap", "payment"]
