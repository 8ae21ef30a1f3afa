"""Stage 4: the instructions together, so that the one that swaps can be told from the rest."""

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
    """A foreign transaction with its accounts spelled out; None if they cannot be."""

    decoders: Decoders
    instructions: Sequence[Instruction] | None
    wallet: Address


def _has_no_nonce(subject: ShapeSubject) -> bool:
    return subject.instructions is not None and not any(
        one.program == SYSTEM_PROGRAM and one.data[:4] == _ADVANCE_NONCE
        for one in subject.instructions
    )


def _has_one_swap(subject: ShapeSubject) -> bool:
    decoders, instructions, wallet = subject
    return sum(is_swap(decoders, one, wallet) for one in instructions or ()) == 1


def temporary_in(
    decoders: Decoders, instructions: Sequence[Instruction], wallet: Address
) -> Address | None:
    """The temporary account that a transaction makes; None if it makes none."""
    found = (temporary_of(decoders, one, wallet) for one in instructions)
    return next((account for account in found if account is not None), None)


def _uses_temporary_once(subject: ShapeSubject) -> bool:
    """Nothing names the account but at most one transfer, its making, the swap, and the close."""
    decoders, instructions, wallet = subject
    account = temporary_in(decoders, instructions or (), wallet)
    if account is None:
        return True
    users = [
        one for one in instructions or () if any(meta.address == account for meta in one.accounts)
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
    Rule("transaction_accounts", lambda one: one.instructions is not None),
    Rule("durable_nonce", _has_no_nonce),
    Rule("one_swap", _has_one_swap),
    Rule("temporary_account", _uses_temporary_once),
)
