"""Stage 4: rules on all instructions together, so that the swap can be told from the rest."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.network import SYSTEM_PROGRAM, TOKEN_PROGRAM
from .._solana.address import Address
from .._solana.types import Instruction
from .decoders import Decoders, is_swap, temporary_of
from .expected import names
from .rule import Rule

CLOSE = 9
_ADVANCE_NONCE = b"\4\0\0\0"


class ShapeSubject(NamedTuple):
    """A foreign transaction with resolved accounts."""

    decoders: Decoders
    # None if the accounts cannot be resolved: see `resolve_instructions`.
    instructions: Sequence[Instruction] | None
    wallet: Address


def _has_no_nonce(subject: ShapeSubject) -> bool:
    return subject.instructions is not None and not any(
        instruction.program == SYSTEM_PROGRAM and instruction.data[:4] == _ADVANCE_NONCE
        for instruction in subject.instructions
    )


def _has_one_swap(subject: ShapeSubject) -> bool:
    decoders, instructions, wallet = subject
    return sum(is_swap(decoders, instruction, wallet) for instruction in instructions or ()) == 1


def temporary_in(
    decoders: Decoders, instructions: Sequence[Instruction], wallet: Address
) -> Address | None:
    """Returns the temporary SOL account that a transaction makes; None if it makes none."""
    found = (temporary_of(decoders, instruction, wallet) for instruction in instructions)
    return next((account for account in found if account is not None), None)


def _uses_temporary_once(subject: ShapeSubject) -> bool:
    """Whether only these instructions name the temporary account, in this order.

    At most one transfer, the instruction that makes the account, the swap, and the close.
    """
    decoders, instructions, wallet = subject
    account = temporary_in(decoders, instructions or (), wallet)
    if account is None:
        return True
    users = [
        instruction
        for instruction in instructions or ()
        if any(meta.address == account for meta in instruction.accounts)
    ]
    if users[0].program == SYSTEM_PROGRAM:
        users = users[1:]
    if len(users) != 3:
        return False
    made, swap, close = users
    is_close = close.program == TOKEN_PROGRAM and close.data == bytes((CLOSE,))
    return (
        temporary_of(decoders, made, wallet) == account
        and is_swap(decoders, swap, wallet)
        and is_close
        and names(close, [account, wallet, wallet])
    )


SHAPE_RULES: Sequence[Rule[ShapeSubject]] = (
    Rule("transaction_accounts", lambda subject: subject.instructions is not None),
    Rule("durable_nonce", _has_no_nonce),
    Rule("one_swap", _has_one_swap),
    Rule("temporary_account", _uses_temporary_once),
)
