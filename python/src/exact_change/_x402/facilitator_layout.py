"""The layouts of a payment that the official facilitators take."""

from __future__ import annotations

from .._base.network import TOKEN_PROGRAMS
from .._solana.message import decode_message
from .types import Offer

_TRANSFERS = [[program] for program in TOKEN_PROGRAMS]
# Index at which official facilitators expect the transfer: after limit and price.
_TRANSFER_AT = 2
# The most instructions that facilitators of version 1 and 2 take, by the package of 2026.
_MOST = {1: 6, 2: 7}
# The first facilitators of version 1 take only limit, price and transfer.
_MOST_OF_OLDEST = 3


def refuses_form(offer: Offer, message: bytes) -> str | None:
    """Returns why official facilitators refuse a payment with the wallet's guards in it, or None.

    They check programs, positions and the number of instructions, and never what a guard does.
    """
    decoded = decode_message(message)
    if decoded is None:
        raise TypeError("Not a v0 message.")
    keys, instructions = decoded.static_accounts, decoded.instructions
    programs = [
        keys[instruction.program_index]
        for instruction in instructions
        if instruction.program_index < len(keys)
    ]
    if programs[_TRANSFER_AT : _TRANSFER_AT + 1] not in _TRANSFERS:
        return "the transfer must be the third instruction"
    is_oldest = offer.version == 1 and not offer.takes_memo and offer.memo is None
    most = _MOST_OF_OLDEST if is_oldest else _MOST[offer.version]
    if len(instructions) <= most:
        return None
    return f"it has {len(instructions)} instructions, and {most} is the most"
