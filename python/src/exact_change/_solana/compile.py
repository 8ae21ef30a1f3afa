"""Compiles messages, to the same bytes as the TypeScript library and web3.js."""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Sequence

from ..errors import ExactChangeError, failure
from .address import Address, address_bytes, is_address
from .types import Instruction, LookupTable

# The most bytes of one network packet: signatures and message together.
MAX_TRANSACTION_BYTES = 1232
SIGNATURE_BYTES = 64
# An index into the accounts of a message or of a table is one byte.
MAX_ACCOUNTS = 256
_VERSION_0 = 0x80


class _Wanted:
    """The rights of an account, merged from all instructions."""

    __slots__ = ("invoked", "signer", "writable")

    def __init__(self) -> None:
        self.signer = False
        self.writable = False
        # Whether it is a program: then the message itself must name it, not a table.
        self.invoked = False


class _Lookup(NamedTuple):
    table: Address
    # Accounts, each with its index in the table.
    writable: list[tuple[Address, int]]
    readonly: list[tuple[Address, int]]


def compile_message(
    fee_payer: Address,
    instructions: Sequence[Instruction],
    blockhash: str,
    lookup_tables: Sequence[LookupTable] = (),
) -> bytes:
    """Returns the serialized v0 message, with its version byte.

    Raises ``transaction_too_large`` if the message and its signatures would not fit a packet.
    """
    if not is_address(blockhash):
        raise TypeError("Not a blockhash.")
    wanted = _accounts_of(fee_payer, instructions)
    if len(wanted) > MAX_ACCOUNTS:
        raise too_large(32 * len(wanted))
    lookups = _look_up(wanted, lookup_tables)

    # Signers come first. In both groups the writable accounts come before the read-only accounts.
    def group(signer: bool, writable: bool) -> list[Address]:
        return [
            address
            for address, rights in wanted.items()
            if rights.signer == signer and rights.writable == writable
        ]

    signed_readonly, readonly = group(True, False), group(False, False)
    signing = group(True, True) + signed_readonly
    accounts = signing + group(False, True) + readonly
    # Indexes count the message's own accounts first, then all accounts of tables, writable first.
    indexed = [
        *accounts,
        *(address for lookup in lookups for address, _ in lookup.writable),
        *(address for lookup in lookups for address, _ in lookup.readonly),
    ]
    index_of: dict[Address, int] = {}
    for index, address in enumerate(indexed):
        index_of.setdefault(address, index)
    message = b"".join(
        (
            bytes((_VERSION_0, len(signing), len(signed_readonly), len(readonly))),
            _list(address_bytes(address) for address in accounts),
            address_bytes(blockhash),
            _list(_instruction(instruction, index_of) for instruction in instructions),
            _list(
                address_bytes(lookup.table)
                + _indexes(index for _, index in lookup.writable)
                + _indexes(index for _, index in lookup.readonly)
                for lookup in lookups
            ),
        )
    )
    size = 1 + SIGNATURE_BYTES * len(signing) + len(message)
    if size > MAX_TRANSACTION_BYTES:
        raise too_large(size)
    return message


def too_large(size: int) -> ExactChangeError:
    """Returns the error for a transaction that does not fit a packet."""
    return failure(
        "transaction_too_large",
        f"The transaction would take {size} bytes of the {MAX_TRANSACTION_BYTES} that the network "
        "carries; use fewer accounts or a simpler route.",
        {"bytes": size},
    )


def _accounts_of(fee_payer: Address, instructions: Sequence[Instruction]) -> dict[Address, _Wanted]:
    """Returns the accounts in the order in which instructions name them, the fee payer first."""
    wanted: dict[Address, _Wanted] = {fee_payer: _Wanted()}
    wanted[fee_payer].signer = wanted[fee_payer].writable = True
    for program, accounts, _ in instructions:
        wanted.setdefault(program, _Wanted()).invoked = True
        for address, signer, writable in accounts:
            rights = wanted.setdefault(address, _Wanted())
            rights.signer |= signer
            rights.writable |= writable
    return wanted


def _look_up(wanted: dict[Address, _Wanted], tables: Sequence[LookupTable]) -> list[_Lookup]:
    """Removes from ``wanted`` each account that a table has, and returns these by table."""

    def take(table: LookupTable, writable: bool) -> list[tuple[Address, int]]:
        indexes: dict[Address, int] = {}
        for index, address in enumerate(table.addresses[:MAX_ACCOUNTS]):
            indexes.setdefault(address, index)
        found = [
            (address, indexes[address])
            for address, rights in wanted.items()
            if not rights.signer
            and not rights.invoked
            and rights.writable == writable
            and address in indexes
        ]
        for address, _ in found:
            del wanted[address]
        return found

    lookups = [_Lookup(table.address, take(table, True), take(table, False)) for table in tables]
    return [lookup for lookup in lookups if lookup.writable or lookup.readonly]


def _instruction(instruction: Instruction, index_of: Mapping[Address, int]) -> bytes:
    program, accounts, data = instruction
    indexes = _indexes(index_of[address] for address, _, _ in accounts)
    return bytes((index_of[program],)) + indexes + _length(len(data)) + data


def _list(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return _length(len(parts)) + b"".join(parts)


def _indexes(items: Iterable[int]) -> bytes:
    indexes = bytes(items)
    return _length(len(indexes)) + indexes


def _length(count: int) -> bytes:
    """Encodes a compact-u16: seven bits in each byte, lowest bits first."""
    if count < 0x80:
        return bytes((count,))
    return bytes((count & 0x7F | 0x80,)) + _length(count >> 7)
