"""What reads the instructions of programs that swap: what it does not understand is refused."""

from __future__ import annotations

import re
from typing import Sequence

from typing_extensions import Protocol

from .._base.network import (
    ASSOCIATED_TOKEN_PROGRAM,
    COMPUTE_BUDGET_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from .._solana.address import Address
from .._solana.types import Instruction
from .._swap.types import SwapCall
from .rule import Rule


class SwapDecoder(Protocol):
    """Reads the swap instructions of one program. Pure."""

    id: str
    # Its name, as people know it.
    name: str
    program_id: Address
    # What must hold of its instructions besides what must of every swap; checked before that.
    rules: Sequence[Rule[Instruction]]

    def decode(self, instruction: Instruction) -> SwapCall | None:
        """None if anything of it is not understood."""
        ...

    def temporary_of(self, instruction: Instruction, wallet: Address) -> Address | None:
        """The account for the SOL of one swap, if an instruction makes it for this wallet."""
        ...

    def error_name(self, code: int) -> str | None:
        """The name of an error of the program, if it says what to do."""
        ...

    def is_price_moved(self, reason: str) -> bool:
        """Whether a transaction failed because the price moved: a new quote may do."""
        ...


Decoders = Sequence[SwapDecoder]
_PROGRAMS: dict[Address, str] = {
    COMPUTE_BUDGET_PROGRAM: "Compute Budget",
    SYSTEM_PROGRAM: "System",
    ASSOCIATED_TOKEN_PROGRAM: "Associated Token",
    TOKEN_PROGRAM: "Token",
    TOKEN_2022_PROGRAM: "Token-2022",
}
_FAILED = re.compile(r"Program (\w{32,44}) failed: (?:custom program error: 0x([0-9a-f]{1,8})$)?")


def decoder_of(decoders: Decoders, program: Address) -> SwapDecoder | None:
    """What reads the instructions of a program."""
    return next((one for one in decoders if one.program_id == program), None)


def program_name(decoders: Decoders, program: Address) -> str | None:
    """The name of a program that a transaction around a swap calls; None for any other."""
    decoder = decoder_of(decoders, program)
    return _PROGRAMS.get(program) or (None if decoder is None else decoder.name)


def decode_swap(decoders: Decoders, instruction: Instruction) -> SwapCall | None:
    """None if its program is not known, or anything of it is not understood."""
    decoder = decoder_of(decoders, instruction.program)
    return None if decoder is None else decoder.decode(instruction)


def temporary_of(decoders: Decoders, instruction: Instruction, wallet: Address) -> Address | None:
    """The account for the SOL of one swap that an instruction makes for this wallet."""
    decoder = decoder_of(decoders, instruction.program)
    return None if decoder is None else decoder.temporary_of(instruction, wallet)


def is_swap(decoders: Decoders, instruction: Instruction, wallet: Address) -> bool:
    """Whether it is of a program that swaps, and not the one that makes a temporary account."""
    return (
        decoder_of(decoders, instruction.program) is not None
        and temporary_of(decoders, instruction, wallet) is None
    )


def swap_error_name(decoders: Decoders, logs: Sequence[str]) -> str | None:
    """The name of the error with which a program that swaps failed, read from the logs."""
    # The innermost program fails first and its callers repeat its number: a venue may use it for
    # something else.
    failed = next((found for found in map(_FAILED.match, logs) if found is not None), None)
    decoder = None if failed is None else decoder_of(decoders, failed[1])
    if failed is None or failed[2] is None or decoder is None:
        return None
    return decoder.error_name(int(failed[2], 16))
