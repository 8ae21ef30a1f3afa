"""Decoders of swap instructions: an instruction that they do not understand is refused."""

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
    # The program's name, as people know it.
    name: str
    program_id: Address
    # Rules for this program's instructions alone; they run before the rules on the decoded swap.
    rules: Sequence[Rule[Instruction]]

    def decode(self, instruction: Instruction) -> SwapCall | None:
        """Returns None if it does not understand every part of the instruction."""
        ...

    def temporary_of(self, instruction: Instruction, wallet: Address) -> Address | None:
        """Returns the temporary SOL account that the instruction makes for this wallet.

        This account holds the SOL of one swap. None if the instruction has not the known form.
        """
        ...

    def error_name(self, code: int) -> str | None:
        """Returns the name of a program error; None if the name would not help a caller."""
        ...

    def is_price_moved(self, reason: str) -> bool:
        """Whether a transaction failed because the price moved, so that a new quote may succeed.

        ``reason`` is the error text of the simulation or of the chain.
        """
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
    return next((decoder for decoder in decoders if decoder.program_id == program), None)


def program_name(decoders: Decoders, program: Address) -> str | None:
    """Returns the name of a program that a swap transaction may call; None for any other."""
    decoder = decoder_of(decoders, program)
    return _PROGRAMS.get(program) or (None if decoder is None else decoder.name)


def decode_swap(decoders: Decoders, instruction: Instruction) -> SwapCall | None:
    """Decodes a swap; None if its program or any part of the instruction is not understood."""
    decoder = decoder_of(decoders, instruction.program)
    return None if decoder is None else decoder.decode(instruction)


def temporary_of(decoders: Decoders, instruction: Instruction, wallet: Address) -> Address | None:
    """Returns the temporary SOL account that an instruction makes for this wallet."""
    decoder = decoder_of(decoders, instruction.program)
    return None if decoder is None else decoder.temporary_of(instruction, wallet)


def is_swap(decoders: Decoders, instruction: Instruction, wallet: Address) -> bool:
    """Whether an instruction calls a program that swaps.

    The instruction that makes the wallet's temporary SOL account does not count.
    """
    return (
        decoder_of(decoders, instruction.program) is not None
        and temporary_of(decoders, instruction, wallet) is None
    )


def swap_error_name(decoders: Decoders, logs: Sequence[str]) -> str | None:
    """Reads from the logs the name of the error with which a swap program failed.

    None if another program failed first, or the error has no known name.
    """
    # Only the first failure counts: the innermost program logs it, and its callers repeat the
    # number. A venue's number may mean another error in the swap program.
    failed = next((found for found in map(_FAILED.match, logs) if found is not None), None)
    decoder = None if failed is None else decoder_of(decoders, failed[1])
    if failed is None or failed[2] is None or decoder is None:
        return None
    return decoder.error_name(int(failed[2], 16))
