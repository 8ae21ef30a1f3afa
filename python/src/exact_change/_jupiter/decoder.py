"""Reads the instructions of Jupiter's aggregator, version 6."""

from __future__ import annotations

import re
from typing import Sequence

from .._base.network import (
    JUPITER_EVENT_AUTHORITY,
    JUPITER_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_PROGRAM,
    WSOL_MINT,
)
from .._firewall.rule import Rule
from .._solana.address import Address, address_bytes
from .._solana.tokens import program_address
from .._solana.types import Instruction
from .._spec import table
from .._swap.types import SwapCall
from .layout import decode_jupiter, has_readable_plan, is_swap_form

_ERRORS: dict[int, str] = {
    int(code): name for code, name in table("jupiter")["programErrors"].items()
}
_PRICE_MOVED = re.compile(
    r'SlippageToleranceExceeded|ExactOutAmountNotMatched|"Custom":(?:6001|6017)\b'
)
# Anchor's number for `create_token_account`.
_CREATE = bytes.fromhex("93f17b64f484ae76")


def _has_authority(instruction: Instruction) -> bool:
    jupiter_call = decode_jupiter(instruction)
    return jupiter_call is not None and (jupiter_call.event_authority, jupiter_call.program) == (
        JUPITER_EVENT_AUTHORITY,
        JUPITER_PROGRAM,
    )


class JupiterDecoder:
    """The decoder of Jupiter's swap instructions."""

    id = "jupiter"
    name = "Jupiter"
    program_id: Address = JUPITER_PROGRAM
    rules: Sequence[Rule[Instruction]] = (
        Rule("jupiter_form", lambda instruction: is_swap_form(instruction.data)),
        Rule("jupiter_plan", lambda instruction: has_readable_plan(instruction.data)),
        Rule("jupiter_truncated", lambda instruction: decode_jupiter(instruction) is not None),
        Rule("jupiter_event_authority", _has_authority),
    )

    def decode(self, instruction: Instruction) -> SwapCall | None:
        jupiter_call = decode_jupiter(instruction)
        return None if jupiter_call is None else jupiter_call.call

    def temporary_of(self, instruction: Instruction, wallet: Address) -> Address | None:
        """Returns Jupiter's temporary SOL account, if the instruction makes it for this wallet.

        The instruction must name exactly the accounts that recorded instructions name. In every
        recorded transaction the account is the canonical address of these seeds.
        """
        program, accounts, data = instruction
        if program != JUPITER_PROGRAM or len(data) != 9 or data[:8] != _CREATE:
            return None
        seeds = [b"token_account", address_bytes(wallet), address_bytes(WSOL_MINT)]
        address, bump = program_address(seeds, JUPITER_PROGRAM)
        expected = [address, wallet, WSOL_MINT, TOKEN_PROGRAM, SYSTEM_PROGRAM]
        is_expected = data[8] == bump and [meta.address for meta in accounts] == expected
        return address if is_expected else None

    def error_name(self, code: int) -> str | None:
        return _ERRORS.get(code)

    def is_price_moved(self, reason: str) -> bool:
        return _PRICE_MOVED.search(reason) is not None


jupiter_decoder = JupiterDecoder()
