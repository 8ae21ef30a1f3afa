"""Rare and hostile answers of nodes and of Jupiter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exact_change import ExactChangeError
from exact_change._base.runtime import system_runtime
from exact_change._http.own import ThreadHttp
from exact_change._jupiter.answer import parse_object
from exact_change._kernel.hosts import threads
from exact_change._solana.rpc.reply import read_landed
from exact_change._solana.rpc.rpc import connect
from exact_change._solana.rpc.types import SignatureStatus, TokenBalanceChange

from ..conftest import MakeSeller
from ..seller import Reply, Seen

WALLET = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
# Deeper than Python can write, and not deeper than it can read.
NESTED = '{"a":' * 800 + "1.5" + "}" * 800


def test_asks_the_next_node_when_an_error_is_nested_too_deeply(make_seller: MakeSeller) -> None:
    def answering(error: str) -> Any:
        def answer(seen: Seen) -> Reply:
            id_ = json.loads(seen.body)["id"]
            status = f'{{"slot":7,"confirmationStatus":"finalized","err":{error}}}'
            result = f'{{"context":{{"slot":9}},"value":[{status}]}}'
            return Reply(body=f'{{"jsonrpc":"2.0","id":{id_},"result":{result}}}'.encode())

        return answer

    nodes = [make_seller(answering(error)) for error in (NESTED, "null")]
    http = ThreadHttp(None, False)
    rpc = connect([node.url for node in nodes], http, system_runtime, 5_000, None)
    assert threads.run(rpc.statuses(["5" * 87])) == [SignatureStatus(7, "finalized", None)]
    assert [len(node.seen) for node in nodes] == [1, 1]
    threads.run(http.close())


def test_refuses_an_object_of_jupiter_that_could_not_be_written_again() -> None:
    with pytest.raises(ExactChangeError, match="it is not JSON") as caught:
        parse_object(NESTED.encode())
    assert caught.value.code == "invalid_response"


def test_reads_a_transaction_of_a_time_when_balances_had_no_owner() -> None:
    balance = {"accountIndex": 0, "mint": MINT, "uiTokenAmount": {"amount": "7"}}
    landed = read_landed(
        {
            "slot": 7,
            "meta": {
                "err": None,
                "fee": 5_000,
                "preBalances": [9],
                "postBalances": [4],
                "preTokenBalances": [],
                "postTokenBalances": [balance],
            },
            "transaction": {"signatures": ["5" * 87], "message": {"accountKeys": [WALLET]}},
        }
    )
    assert landed.token_changes == [TokenBalanceChange(WALLET, MINT, 0, 7)]
