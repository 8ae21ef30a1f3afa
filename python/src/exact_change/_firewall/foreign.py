"""Takes a foreign transaction apart, up to the one swap in it."""

from __future__ import annotations

from typing import NamedTuple, Sequence, TypeVar

from typing_extensions import Protocol

from .._base.network import TOKEN_PROGRAM, WSOL_MINT
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.message import resolve_instructions
from .._solana.tables import TableCache
from .._solana.tokens import associated_token_address
from .._solana.types import Instruction
from .._swap.read_facts import Reads
from .._swap.types import SwapBuild
from .decoders import Decoders, is_swap
from .envelope import ENVELOPE_RULES, EnvelopeSubject, read_transaction
from .rule import Rule, enforce, refusal
from .shape import SHAPE_RULES, ShapeSubject, temporary_in
from .tables import TABLE_NAME_RULES, TABLE_RULES, TablesSubject

T = TypeVar("T")


class Check(Protocol):
    """Holds rules to a subject, and raises if one is broken."""

    def __call__(self, rules: Sequence[Rule[T]], subject: T) -> None:
        """Raises ``unsafe_swap``."""


class ForeignSwap(NamedTuple):
    """A transaction with exactly one swap in it."""

    message: bytes
    instructions: Sequence[Instruction]
    # Its lookup tables.
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
    """A foreign transaction that swaps once, as it is.

    Its lookup tables are read from the caller's own node.
    """
    decoded = read_transaction(transaction)
    check(ENVELOPE_RULES, EnvelopeSubject(decoded, wallet))
    if decoded is None:
        raise refusal(ENVELOPE_RULES[0].text)
    lookups = decoded.decoded.lookups
    names = [one.table for one in lookups]
    check(TABLE_NAME_RULES, names)
    read = yield from tables.read(node, names, fresh=True, signal=signal)
    check(TABLE_RULES, TablesSubject(read, lookups))
    instructions = resolve_instructions(decoded.decoded, [one.table for one in read])
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
    """Takes the one swap instruction out of a foreign unsigned transaction, and leaves the rest.

    What surrounds a swap is composed by us. Raises ``unsafe_swap`` for anything that is not such a
    transaction.
    """
    _, instructions, names = yield from read_swap(
        node, tables, transaction, wallet, decoders, enforce, signal
    )
    swap = next(one for one in instructions if is_swap(decoders, one, wallet))
    temporary = temporary_in(decoders, instructions, wallet)
    if temporary is not None:
        # The same swap on the wallet's own wrapped SOL account: nothing of ours makes another.
        own = associated_token_address(wallet, WSOL_MINT, TOKEN_PROGRAM)
        accounts = [
            one._replace(address=own) if one.address == temporary else one for one in swap.accounts
        ]
        swap = swap._replace(accounts=accounts)
    return SwapBuild(swap, names)
