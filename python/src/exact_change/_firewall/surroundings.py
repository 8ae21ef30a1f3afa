"""Stage 6: everything but the swap itself, by program, by operation and by account."""

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
from .guard import guard_of, keeps_plain, transferred
from .relay import is_relay_fee
from .rule import Rule
from .shape import CLOSE

_SYNC = 17


def _each(
    id_: str, programs: Sequence[Address], passes: Callable[[Placed, SwapExpectation], bool]
) -> Rule[Surroundings]:
    """A rule on every instruction of some programs."""

    def check(subject: Surroundings) -> bool:
        return all(
            one.instruction.program not in programs or passes(one, subject.expected)
            for one in subject.placed()
        )

    return Rule(id_, check)


def _calls_known_programs(subject: Surroundings) -> bool:
    decoders = subject.expected.decoders
    return all(program_name(decoders, one.program) for one in subject.instructions)


def _is_own_transfer(one: Placed, expected: SwapExpectation) -> bool:
    """Wraps SOL, or is the last line of the guard."""
    wallet, instruction = expected.wallet, one.instruction
    is_floor = transferred(instruction, wallet, wallet) is not None
    is_last = one.last and not one.before
    return _wrapped_by(one, expected) is not None or (
        is_last and (is_floor or keeps_plain(instruction, wallet))
    )


def _is_funded(subject: Surroundings) -> bool:
    """As recorded: a new account gets its rent and all that the swap may take if it sells SOL.

    And nothing if it buys SOL.
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


def _syncs_own(one: Placed, expected: SwapExpectation) -> bool:
    program, _, data = one.instruction
    return data[:1] != bytes((_SYNC,)) or (
        one.before
        and program == TOKEN_PROGRAM
        and len(data) == 1
        and names(one.instruction, [expected.wrapped])
    )


def _closes_own(one: Placed, expected: SwapExpectation) -> bool:
    return one.instruction.data[:1] != bytes((CLOSE,)) or _closed_by(one, expected) is not None


def _is_known_operation(one: Placed, expected: SwapExpectation) -> bool:
    is_listed = one.instruction.data[:1] in (bytes((CLOSE,)), bytes((_SYNC,)))
    return is_listed or is_relay_fee(one, expected) or guard_of(one, expected) is not None


SURROUNDINGS_RULES: Sequence[Rule[Surroundings]] = (
    Rule("foreign_program", _calls_known_programs),
    Rule("compute_budget", lambda one: compute_budget_of(one.instructions) is not None),
    Rule(
        "priority_fee",
        lambda one: (priority_fee_of(one.instructions) or 0) <= one.max_priority_fee,
    ),
    _each("system_instruction", (SYSTEM_PROGRAM,), _is_own_transfer),
    Rule("temporary_funding", _is_funded),
    Rule("wrap_amount", lambda one: wrapped_in(one) <= one.expected.max_in),
    _each(
        "token_account_creation",
        (ASSOCIATED_TOKEN_PROGRAM,),
        lambda one, expected: _created_by(one, expected) is not None,
    ),
    _each("close_account", TOKEN_PROGRAMS, _closes_own),
    _each("sync_native", TOKEN_PROGRAMS, _syncs_own),
    _each("token_instruction", TOKEN_PROGRAMS, _is_known_operation),
)


def _wrapped_by(one: Placed, expected: SwapExpectation) -> int | None:
    """Lamports that an instruction wraps before a swap of SOL."""
    if not one.before or expected.input_mint != WSOL_MINT:
        return None
    return transferred(one.instruction, expected.wallet, expected.wrapped)


def wrapped_in(subject: Surroundings) -> int:
    """Lamports that are wrapped before the swap: to the temporary account, what its rent leaves."""
    sent = sum(_wrapped_by(one, subject.expected) or 0 for one in subject.placed())
    if subject.expected.input_mint == WSOL_MINT and subject.temporary is not None:
        return sent - subject.temporary.rent
    return sent


def _created_by(one: Placed, expected: SwapExpectation) -> Address | None:
    """The own account that an instruction of the associated token program creates."""
    _, accounts, data = one.instruction
    mints = {
        WSOL_MINT: TOKEN_PROGRAM,
        expected.input_mint: expected.input_program,
        expected.output_mint: expected.output_program,
    }
    mint = accounts[3].address if len(accounts) > 3 else ""
    program = mints.get(mint)
    if not one.before or data not in (b"", b"\0", b"\1") or program is None:
        return None
    account = expected.own_account(mint, program)
    # Older builders name the rent sysvar as a seventh; no program reads it.
    six = one.instruction._replace(accounts=accounts[:6])
    wanted = [expected.fee_payer, account, expected.wallet, mint, SYSTEM_PROGRAM, program]
    return account if len(accounts) <= 7 and names(six, wanted) else None


def created_in(subject: Surroundings) -> list[Address]:
    """The own accounts that are created before the swap."""
    found = (
        _created_by(one, subject.expected)
        for one in subject.placed()
        if one.instruction.program == ASSOCIATED_TOKEN_PROGRAM
    )
    return [account for account in found if account is not None]


def _closed_by(one: Placed, expected: SwapExpectation) -> Address | None:
    """The wallet's wrapped SOL account, if it is closed into the wallet after the swap."""
    program, _, data = one.instruction
    account, wallet = expected.wrapped, expected.wallet
    is_close = program == TOKEN_PROGRAM and data == bytes((CLOSE,))
    is_own = is_close and not one.before and names(one.instruction, [account, wallet, wallet])
    return account if is_own else None


def closes_wrapped(subject: Surroundings) -> bool:
    """Whether the transaction closes the wallet's wrapped SOL account after the swap."""
    return any(
        _closed_by(Placed(one, False, False), subject.expected) is not None
        for one in subject.instructions[subject.swap_at + 1 :]
    )
