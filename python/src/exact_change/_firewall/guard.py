"""The guard at the end of a transaction, made of pinned programs alone.

Revoking takes away an approval; moving the least that must be there to the same account fails if
less is there, or if the wallet no longer owns it; dropping the close authority fails if it is
another wallet's. Revoking comes first: a venue that has made itself the owner can make the wallet
its delegate and the one that may close, and a delegate may move and revoke. The last line fails too
if the wallet was assigned to another program, or was given data, as a nonce account has. Of a
wallet without lamports it allocates no bytes, which fails for both and does nothing else: a
transfer of zero would not notice.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

from typing_extensions import Literal

from .._base.network import SYSTEM_PROGRAM
from .._solana.address import Address
from .._solana.instructions import (
    allocate_nothing,
    drop_close_authority,
    revoke,
    transfer_checked,
    transfer_lamports,
)
from .._solana.types import Instruction
from .expected import Placed, Surroundings, SwapExpectation, names

TRANSFER_CHECKED, REVOKE, SET_AUTHORITY, CLOSE_AUTHORITY = 12, 5, 6, 3


class OwnAccount(NamedTuple):
    """An associated token account of the wallet, whether or not it exists yet."""

    address: Address
    mint: Address
    token_program: Address
    decimals: int
    exists: bool
    # Base units; 0 if it does not exist.
    balance: int
    # Lamports that are wrapped SOL as soon as any wallet has them counted (`SyncNative`).
    uncounted: int
    # Lamports at the address.
    lamports: int


class TokenFloor(NamedTuple):
    """What must be true of one of the wallet's accounts when the transaction ends."""

    account: OwnAccount
    # Base units.
    least: int
    # Closed by the transaction itself: nothing is left that could be guarded.
    closed: bool


class Floors(NamedTuple):
    """What must be true when the transaction ends; if not, all of it fails."""

    wallet: Address
    lamports: int
    tokens: Sequence[TokenFloor]


def guard(floors: Floors) -> list[Instruction]:
    """The instructions that hold a transaction to its floors."""
    wallet = floors.wallet
    instructions: list[Instruction] = []
    for account, least, closed in floors.tokens:
        if closed:
            continue
        address, mint, program = account.address, account.mint, account.token_program
        instructions += [
            revoke(address, wallet, program),
            transfer_checked(address, mint, address, wallet, least, account.decimals, program),
            drop_close_authority(address, wallet, program),
        ]
    last = allocate_nothing(wallet)
    if floors.lamports > 0:
        last = transfer_lamports(wallet, wallet, floors.lamports)
    return [*instructions, last]


class TokenGuard(NamedTuple):
    """One instruction of the guard on a token account of the wallet."""

    kind: Literal["least", "revoke", "close_authority"]
    account: Address
    # Base units, if the kind is `least`.
    amount: int = 0


class GuardsFound(NamedTuple):
    """What a transaction itself makes sure of at its end."""

    # In the order in which they run.
    tokens: Sequence[TokenGuard]
    # Lamports that the wallet must have; 0 if it must be a plain wallet and may have none, None if
    # the transaction does not end with either.
    lamports: int | None


def guard_of(placed: Placed, expected: SwapExpectation) -> TokenGuard | None:
    """What an instruction guards on either account, if it is one of the guard's."""
    program, accounts, data = placed.instruction
    legs = (
        (expected.input_mint, expected.input_program),
        (expected.output_mint, expected.output_program),
    )
    account = accounts[0].address if accounts else None
    leg = next((one for one in legs if expected.own_account(*one) == account), None)
    if placed.before or account is None or leg is None or leg[1] != program:
        return None
    wallet, instruction = expected.wallet, placed.instruction
    is_transfer = data[:1] == bytes((TRANSFER_CHECKED,)) and len(data) == 10
    if is_transfer and names(instruction, [account, leg[0], account, wallet]):
        return TokenGuard("least", account, int.from_bytes(data[1:9], "little"))
    if not names(instruction, [account, wallet]):
        return None
    if data == bytes((REVOKE,)):
        return TokenGuard("revoke", account)
    drops = data == bytes((SET_AUTHORITY, CLOSE_AUTHORITY, 0))
    return TokenGuard("close_authority", account) if drops else None


def transferred(instruction: Instruction, source: Address, to: Address) -> int | None:
    """Lamports of a System transfer, if it is one: 4 bytes of operation, 8 of amount."""
    program, _, data = instruction
    if program != SYSTEM_PROGRAM or len(data) != 12 or not names(instruction, [source, to]):
        return None
    return int.from_bytes(data[4:], "little") if data[:4] == b"\2\0\0\0" else None


def keeps_plain(instruction: Instruction, wallet: Address) -> bool:
    """Whether an instruction allocates no bytes on the wallet.

    It does nothing to a wallet that is plain, and fails for one that was handed to another program,
    or was given data. 4 bytes of operation, 8 of space.
    """
    program, _, data = instruction
    return (
        program == SYSTEM_PROGRAM and data == b"\x08" + bytes(11) and names(instruction, [wallet])
    )


def _floor_in(instruction: Instruction, wallet: Address) -> int | None:
    moved = transferred(instruction, wallet, wallet)
    if moved is not None:
        # A transfer of nothing would not notice that the wallet was handed to another program.
        return moved or None
    return 0 if keeps_plain(instruction, wallet) else None


def guards_in(subject: Surroundings) -> GuardsFound:
    """The unbroken row of guard instructions at the end of a transaction."""
    wallet = subject.expected.wallet
    instructions = subject.instructions
    lamports = _floor_in(instructions[-1], wallet) if instructions else None
    tokens: list[TokenGuard] = []
    if lamports is None:
        return GuardsFound(tokens, lamports)
    for instruction in reversed(instructions[subject.swap_at + 1 : -1]):
        found = guard_of(Placed(instruction, False, False), subject.expected)
        if found is None:
            break
        tokens.insert(0, found)
    return GuardsFound(tokens, lamports)


def holds(found: GuardsFound, floors: Floors) -> bool:
    """Whether the guards at the end of a transaction hold it to these floors at least."""
    for account, least, closed in floors.tokens:
        own = [one for one in found.tokens if one.account == account.address]
        kinds = [one.kind for one in own]
        if closed:
            continue
        if "revoke" not in kinds or "close_authority" not in kinds:
            return False
        after = own[kinds.index("revoke") :]
        if not any(one.kind == "least" and one.amount >= least for one in after):
            return False
    return found.lamports is not None and found.lamports >= floors.lamports
