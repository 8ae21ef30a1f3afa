"""Converts rows of several vector files to the types of this library."""

from __future__ import annotations

from typing import Any, Mapping

from exact_change._firewall.expected import Relay, SwapExpectation
from exact_change._jupiter.decoder import jupiter_decoder
from exact_change._solana.types import AccountMeta, Instruction

from ..spec import data

DECODERS = (jupiter_decoder,)


def instruction_of(row: Mapping[str, Any]) -> Instruction:
    accounts = [
        AccountMeta(account["address"], account["signer"], account["writable"])
        for account in row["accounts"]
    ]
    return Instruction(row["program"], accounts, data(row["data"]))


def expected_of(row: Mapping[str, Any]) -> SwapExpectation:
    return SwapExpectation(
        DECODERS,
        row["wallet"],
        row["inputMint"],
        row["outputMint"],
        row["inputProgram"],
        row["outputProgram"],
        int(row["maxIn"]),
        int(row["minOut"]),
        row["slippageBps"],
        relay=relay_of(row),
    )


def relay_of(row: Mapping[str, Any]) -> Relay | None:
    """Returns the relayer that pays for the swap of a row; None if the wallet pays."""
    relay = row.get("relay")
    if relay is None:
        return None
    return Relay(relay["feePayer"], relay["payTo"], relay["mint"], int(relay["amount"]))
