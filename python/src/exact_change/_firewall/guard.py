"""The guard at the end of a transaction, which calls pinned programs alone.

For each token account:

- ``Revoke`` takes away an approval. It comes first: a venue that owns the account can make the
  wallet its delegate and close authority. A delegate may transfer and revoke.
- The account transfers its least balance to itself. This fails if it holds less, or if the wallet
  no longer owns it.
- Dropping the close authority fails if it belongs to another wallet.

The last instruction transfers the least lamports from the wallet to itself. It also fails if the
wallet was assigned to another program or given data, as a nonce account has. A transfer of zero
would not fail then, so a wallet that may have no lamports allocates zero bytes instead.
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
WITHDRAW_EXCESS = 38


class OwnAccount(NamedTuple):
    """An associated token account of the wallet, whether or not it exists yet."""

    address: Address
    mint: Address
    token_program: Address
    decimals: int
    exists: bool
    # Base units; 0 if it does not exist.
    balance: int
    # Lamports that become wrapped SOL as soon as any wallet has them counted (`SyncNative`). The
    # swap could then take them.
    uncounted: int
    # Lamports at the address.
    lamports: int


class TokenFloor(NamedTuple):
    """The least that a token account of the wallet must hold when the transaction ends."""

    account: OwnAccount
    # Base units.
    least: int
    # Whether the transaction itself closes the account, which leaves nothing to guard.
    closed: bool


class Floors(NamedTuple):
    """What the wallet must hold when the transaction ends; if it holds less, all of it fails."""

    wallet: Address
    lamports: int
    tokens: Sequence[TokenFloor]


def guard(floors: Floors) -> list[Instruction]:
    """Composes the guard: the instructions that hold a transaction to its floors."""
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
    """A guard instruction on a token account of the wallet."""

    kind: Literal["least", "revoke", "close_authority"]
    account: Address
    # Base units that must be left, if the kind is `least`; else 0.
    amount: int = 0


class GuardsFound(NamedTuple):
    """The guard instructions at the end of a transaction."""

    # In the order in which they run.
    tokens: Sequence[TokenGuard]
    # Lamports that the wallet must have; 0 if the last instruction only checks that it is a plain
    # wallet. None if the last instruction guards no wallet.
    lamports: int | None


def guard_of(placed: Placed, expected: SwapExpectation) -> TokenGuard | None:
    """Reads a guard instruction; None for any other instruction.

    Guard instructions follow the swap and work on its source or output account.
    """
    wallet, instruction = expected.wallet, placed.instruction
    leg, data = _leg_of(instruction, expected), instruction.data
    if placed.before or leg is None:
        return None
    mint, account = leg
    is_transfer = data[:1] == bytes((TRANSFER_CHECKED,)) and len(data) == 10
    if is_transfer and names(instruction, [account, mint, account, wallet]):
        return TokenGuard("least", account, int.from_bytes(data[1:9], "little"))
    if not names(instruction, [account, wallet]):
        return None
    if data == bytes((REVOKE,)):
        return TokenGuard("revoke", account)
    drops = data == bytes((SET_AUTHORITY, CLOSE_AUTHORITY, 0))
    return TokenGuard("close_authority", account) if drops else None


def claimed_by(placed: Placed, expected: SwapExpectation) -> Address | None:
    """Returns the source or output from which an instruction withdraws lamports beyond its rent.

    They go into the wallet, before the swap. None for any other instruction.
    """
    instruction, wallet = placed.instruction, expected.wallet
    leg = _leg_of(instruction, expected)
    if not placed.before or leg is None or instruction.data != bytes((WITHDRAW_EXCESS,)):
        return None
    return leg[1] if names(instruction, [leg[1], wallet, wallet]) else None


def _leg_of(instruction: Instruction, expected: SwapExpectation) -> tuple[Address, Address] | None:
    """Returns mint and account of the side that a token instruction names first."""
    first = instruction.accounts[0].address if instruction.accounts else None
    for mint, program in (
        (expected.input_mint, expected.input_program),
        (expected.output_mint, expected.output_program),
    ):
        account = expected.own_account(mint, program)
        if program == instruction.program and account == first:
            return mint, account
    return None


def transferred(instruction: Instruction, source: Address, to: Address) -> int | None:
    """Returns the lamports of a System transfer between two accounts.

    None for any other instruction. Its data are 4 bytes of operation and 8 of amount.
    """
    program, _, data = instruction
    if program != SYSTEM_PROGRAM or len(data) != 12 or not names(instruction, [source, to]):
        return None
    return int.from_bytes(data[4:], "little") if data[:4] == b"\2\0\0\0" else None


def keeps_plain(instruction: Instruction, wallet: Address) -> bool:
    """Whether an instruction allocates zero bytes on the wallet.

    This does nothing to a plain wallet, and fails if the wallet was assigned to another program or
    given data.
    """
    program, _, data = instruction
    # 4 bytes of operation, 8 of space.
    return (
        program == SYSTEM_PROGRAM and data == b"\x08" + bytes(11) and names(instruction, [wallet])
    )


def _floor_in(instruction: Instruction, wallet: Address) -> int | None:
    moved = transferred(instruction, wallet, wallet)
    if moved is not None:
        # A transfer of zero guards nothing: it succeeds if the wallet was assigned to a program.
        return moved or None
    return 0 if keeps_plain(instruction, wallet) else None


def guards_in(subject: Surroundings) -> GuardsFound:
    """Returns the unbroken run of guard instructions at the end of a transaction."""
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


def guards_hold(found: GuardsFound, floors: Floors) -> bool:
    """Whether the guards at the end of a transaction hold it to these floors at least."""
    for account, least, closed in floors.tokens:
        guards = [token for token in found.tokens if token.account == account.address]
        kinds = [token.kind for token in guards]
        if closed:
            continue
        if "revoke" not in kinds or "close_authority" not in kinds:
            return False
        after = guards[kinds.index("revoke") :]
        if not any(token.kind == "least" and token.amount >= least for token in after):
            return False
    return found.lamports is not None and found.lamports >= floors.lamports
