"""Stage 6: rules on every instruction but the swap: its program, operation and accounts."""

from __future__ import annotations

from typing import Callable, Sequence

from .._base.network import (
    ASSOCIATED_TOKEN_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_PROGRAM,
    TOKEN_PROGRAMS,
    WSOL_MINT,
)
from .._solana.address import Address
from .compute_budget import compute_budget_of, priority_fee_of
from .decoders import decode_swap, program_name
from .expected import Placed, Surroundings, SwapExpectation, names
from .guard import claimed_by, guard_of, keeps_plain, transferred
from .relay import is_relay_fee
from .rule import Rule
from .shape import CLOSE

_SYNC = 17


def _on_each(
    id_: str, programs: Sequence[Address], passes: Callable[[Placed, SwapExpectation], bool]
) -> Rule[Surroundings]:
    """Makes a rule on every instruction of some programs."""

    def check(subject: Surroundings) -> bool:
        return all(
            placed.instruction.program not in programs or passes(placed, subject.expected)
            for placed in subject.placed()
        )

    return Rule(id_, check)


def _calls_known_programs(subject: Surroundings) -> bool:
    decoders = subject.expected.decoders
    return all(program_name(decoders, instruction.program) for instruction in subject.instructions)


def _is_own_transfer(placed: Placed, expected: SwapExpectation) -> bool:
    """Whether an instruction wraps SOL, or is the end of the guard, which checks the wallet."""
    wallet, instruction = expected.wallet, placed.instruction
    is_floor = transferred(instruction, wallet, wallet) is not None
    is_last = placed.last and not placed.before
    return _wrapped_by(placed, expected) is not None or (
        is_last and (is_floor or keeps_plain(instruction, wallet))
    )


def _is_funded(subject: Surroundings) -> bool:
    """Whether the temporary SOL account is new and funded as in recorded transactions.

    If the swap sells SOL, it gets its rent and all that the swap may take. A swap that buys SOL
    funds nothing.
    """
    expected, temporary = subject.expected, subject.temporary
    if expected.temporary is None:
        return True
    at = subject.swap_at
    call = None
    if 0 <= at < len(subject.instructions):
        call = decode_swap(expected.decoders, subject.instructions[at])
    if temporary is None or not temporary.vacant or call is None:
        return False
    if expected.input_mint == WSOL_MINT:
        return wrapped_in(subject) == call.max_in
    return expected.output_mint == WSOL_MINT


def _syncs_own(placed: Placed, expected: SwapExpectation) -> bool:
    program, _, data = placed.instruction
    return data[:1] != bytes((_SYNC,)) or (
        placed.before
        and program == TOKEN_PROGRAM
        and len(data) == 1
        and names(placed.instruction, [expected.wrapped])
    )


def _closes_own(placed: Placed, expected: SwapExpectation) -> bool:
    return (
        placed.instruction.data[:1] != bytes((CLOSE,)) or _closed_by(placed, expected) is not None
    )


def _is_known_operation(placed: Placed, expected: SwapExpectation) -> bool:
    is_listed = placed.instruction.data[:1] in (bytes((CLOSE,)), bytes((_SYNC,)))
    return (
        is_listed
        or is_relay_fee(placed, expected)
        or claimed_by(placed, expected) is not None
        or guard_of(placed, expected) is not None
    )


SURROUNDINGS_RULES: Sequence[Rule[Surroundings]] = (
    Rule("foreign_program", _calls_known_programs),
    Rule("compute_budget", lambda subject: compute_budget_of(subject.instructions) is not None),
    Rule(
        "priority_fee",
        lambda subject: (priority_fee_of(subject.instructions) or 0) <= subject.max_priority_fee,
    ),
    _on_each("system_instruction", (SYSTEM_PROGRAM,), _is_own_transfer),
    Rule("temporary_funding", _is_funded),
    Rule("wrap_amount", lambda subject: wrapped_in(subject) <= subject.expected.max_in),
    _on_each(
        "token_account_creation",
        (ASSOCIATED_TOKEN_PROGRAM,),
        lambda placed, expected: _created_by(placed, expected) is not None,
    ),
    _on_each("close_account", TOKEN_PROGRAMS, _closes_own),
    _on_each("sync_native", TOKEN_PROGRAMS, _syncs_own),
    _on_each("token_instruction", TOKEN_PROGRAMS, _is_known_operation),
)


def _wrapped_by(placed: Placed, expected: SwapExpectation) -> int | None:
    """Returns the lamports that an instruction wraps before a swap that sells SOL."""
    if not placed.before or expected.input_mint != WSOL_MINT:
        return None
    return transferred(placed.instruction, expected.wallet, expected.wrapped)


def wrapped_in(subject: Surroundings) -> int:
    """Returns the lamports that are wrapped before the swap.

    The rent of a temporary SOL account does not count.
    """
    sent = sum(_wrapped_by(placed, subject.expected) or 0 for placed in subject.placed())
    if subject.expected.input_mint == WSOL_MINT and subject.temporary is not None:
        return sent - subject.temporary.rent
    return sent


def _created_by(placed: Placed, expected: SwapExpectation) -> Address | None:
    """Returns the wallet's account that an instruction of the associated token program creates."""
    _, accounts, data = placed.instruction
    mints = {
        WSOL_MINT: TOKEN_PROGRAM,
        expected.input_mint: expected.input_program,
        expected.output_mint: expected.output_program,
    }
    mint = accounts[3].address if len(accounts) > 3 else ""
    program = mints.get(mint)
    if not placed.before or data not in (b"", b"\0", b"\1") or program is None:
        return None
    account = expected.own_account(mint, program)
    # Older builders name the rent sysvar as a seventh account; no program reads it.
    first_six = placed.instruction._replace(accounts=accounts[:6])
    wanted = [expected.fee_payer, account, expected.wallet, mint, SYSTEM_PROGRAM, program]
    return account if len(accounts) <= 7 and names(first_six, wanted) else None


def created_in(subject: Surroundings) -> list[Address]:
    """Returns the wallet's accounts that are created before the swap."""
    found = (
        _created_by(placed, subject.expected)
        for placed in subject.placed()
        if placed.instruction.program == ASSOCIATED_TOKEN_PROGRAM
    )
    return [account for account in found if account is not None]


def _closed_by(placed: Placed, expected: SwapExpectation) -> Address | None:
    """Returns the wallet's wrapped SOL account, if an instruction closes it into the wallet."""
    program, _, data = placed.instruction
    account, wallet = expected.wrapped, expected.wallet
    is_close = program == TOKEN_PROGRAM and data == bytes((CLOSE,))
    is_own = is_close and not placed.before and names(placed.instruction, [account, wallet, wallet])
    return account if is_own else None


def closes_wrapped(subject: Surroundings) -> bool:
    """Whether the transaction closes the wallet's wrapped SOL account after the swap."""
    return any(
        _closed_by(Placed(instruction, False, False), subject.expected) is not None
        for instruction in subject.instructions[subject.swap_at + 1 :]
    )
