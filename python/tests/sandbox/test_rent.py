"""The rent in the cost of a plan."""

from __future__ import annotations

import base64
from typing import Any

import httpx
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from exact_change._base.network import TOKEN_PROGRAM
from exact_change._solana.tokens import associated_token_address

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import until

# Minimum balance of an account without data.
LEAST_LAMPORTS = 890_880


def ask(sandbox: Sandbox, method: str, *params: Any) -> Any:
    """Returns the result of an RPC call."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx.post(sandbox.rpc_url, json=body).json()["result"]


def test_counts_rent_when_the_account_address_holds_only_lamports(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    url = f"{sandbox.api_url}/usdc"
    plain = make_payer(SOL="1", auto_swap=True)
    prefunded = make_payer(SOL="1", auto_swap=True)
    account = associated_token_address(
        prefunded.wallet.address, sandbox.mint("USDC"), TOKEN_PROGRAM
    )
    giver = Keypair.from_base58_string(sandbox.wallet(SOL="1").secret_key)
    gift = transfer(
        TransferParams(
            from_pubkey=giver.pubkey(),
            to_pubkey=Pubkey.from_string(account),
            lamports=LEAST_LAMPORTS,
        )
    )
    blockhash = Hash.from_string(ask(sandbox, "getLatestBlockhash")["value"]["blockhash"])
    signed = Transaction([giver], Message([gift], giver.pubkey()), blockhash)
    packed = base64.b64encode(bytes(signed)).decode()
    ask(sandbox, "sendTransaction", packed, {"encoding": "base64"})
    until("the gift lands", lambda: ask(sandbox, "getAccountInfo", account)["value"])
    costs = [payer.client.plan(url).cost for payer in (plain, prefunded)]
    assert costs[0] == costs[1]
