"""Reads a foreign transaction with exactly one swap."""

from __future__ import annotations

from typing import NamedTuple, Sequence, TypeVar

from typing_extensions import Protocol

from .._base.network import TOKEN_PROGRAM, WSOL_MINT
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.message import resolve_instructions
from .._solana.rpc.types import Reads
from .._solana.tables import TableCache
from .._solana.tokens import associated_token_address
from .._solana.types import Instruction
from .._swap.types import SwapBuild
from .decoders import Decoders, is_swap
from .envelope import ENVELOPE_RULES, EnvelopeSubject, read_transaction
from .rule import Rule, enforce, refusal
from .shape import SHAPE_RULES, ShapeSubject, temporary_in
from .tables import TABLE_NAME_RULES, TABLE_RULES, TablesSubject

T = TypeVar("T")


class Check(Protocol):
    """Checks rules on a subject, and raises for a broken rule."""

    def __call__(self, rules: Sequence[Rule[T]], subject: T) -> None:
        """Raises ``unsafe_swap``."""


class ForeignSwap(NamedTuple):
    """A foreign transaction with exactly one swap."""

    message: bytes
    # Instructions with resolved accounts.
    instructions: Sequence[Instruction]
    # The addresses of its lookup tables.
    tables: Sequence[Address]


def read_swap(
    node: Reads,
    tables: TableCache,
    transaction: object,
    wallet: Address,
    decoders: Decoders,
    check: Check,
    signal: Signal | None,
) -> Steps[ForeignSwap]:
    """Reads a foreign unsigned transaction, and its lookup tables from the caller's own node.

    ``check`` raises ``unsafe_swap`` if it breaks a rule, or has not exactly one swap.
    """
    decoded = read_transaction(transaction)
    check(ENVELOPE_RULES, EnvelopeSubject(decoded, wallet))
    if decoded is None:
        raise refusal(ENVELOPE_RULES[0].text)
    lookups = decoded.decoded.lookups
    names = [lookup.table for lookup in lookups]
    check(TABLE_NAME_RULES, names)
    read = yield from tables.read(node, names, fresh=True, signal=signal)
    check(TABLE_RULES, TablesSubject(read, lookups))
    instructions = resolve_instructions(decoded.decoded, [table.table for table in read])
    check(SHAPE_RULES, ShapeSubject(decoders, instructions, wallet))
    return ForeignSwap(decoded.message, instructions or (), names)


def extract_swap(
    node: Reads,
    tables: TableCache,
    transaction: object,
    wallet: Address,
    decoders: Decoders,
    signal: Signal | None,
) -> Steps[SwapBuild]:
    """Returns only the swap instruction of a foreign unsigned transaction.

    We compose the rest ourselves. Raises ``unsafe_swap`` for anything but a transaction with one
    swap.
    """
    _, instructions, names = yield from read_swap(
        node, tables, transaction, wallet, decoders, enforce, signal
    )
    swap = next(
        instruction for instruction in instructions if is_swap(decoders, instruction, wallet)
    )
    temporary = temporary_in(decoders, instructions, wallet)
    if temporary is not None:
        # Use the wallet's own wrapped SOL account: our transaction makes no temporary account.
        own = associated_token_address(wallet, WSOL_MINT, TOKEN_PROGRAM)
        accounts = [
            meta._replace(address=own) if meta.address == temporary else meta
            for meta in swap.accounts
        ]
        swap = swap._replace(accounts=accounts)
    return SwapBuild(swap, names)
