"""Messages: the same bytes as the library in TypeScript compiles, and web3.js."""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Sequence

from ..errors import ExactChangeError, failure
from .address import Address, address_bytes, is_address
from .types import Instruction, LookupTable

# The most that one packet of the network carries: signatures and message together.
MAX_TRANSACTION_BYTES = 1232
SIGNATURE_BYTES = 64
# Indexes into the accounts of a message, and into those of a table, are one byte.
MAX_ACCOUNTS = 256
_VERSION_0 = 0x80


class _Wanted:
    """What all instructions together want of an account."""

    __slots__ = ("invoked", "signer", "writable")

    def __init__(self) -> None:
        self.signer = False
        self.writable = False
        # A program: it must stand in the message itself.
        self.invoked = False


class _Lookup(NamedTuple):
    table: Address
    # Accounts, and their places in the table.
    writable: list[tuple[Address, int]]
    readonly: list[tuple[Address, int]]


def compile_message(
    fee_payer: Address,
    instructions: Sequence[Instruction],
    blockhash: str,
    lookup_tables: Sequence[LookupTable] = (),
) -> bytes:
    """The serialized v0 message, with its version byte.

    Raises ``transaction_too_large`` if it would not fit a packet with its signatures.
    """
    if not is_address(blockhash):
        raise TypeError("Not a blockhash.")
    wanted = _accounts_of(fee_payer, instructions)
    if len(wanted) > MAX_ACCOUNTS:
        raise too_large(32 * len(wanted))
    lookups = _look_up(wanted, lookup_tables)

    # Signers first, the writable ones of both groups before the read-only ones.
    def group(signer: bool, writable: bool) -> list[Address]:
        return [
            address
            for address, one in wanted.items()
            if one.signer == signer and one.writable == writable
        ]

    signed_readonly, readonly = group(True, False), group(False, False)
    signing = group(True, True) + signed_readonly
    accounts = signing + group(False, True) + readonly
    # Indexes count the message's own accounts, then all that tables bring: writable ones first.
    everything = [
        *accounts,
        *(address for lookup in lookups for address, _ in lookup.writable),
        *(address for lookup in lookups for address, _ in lookup.readonly),
    ]
    place: dict[Address, int] = {}
    for index, address in enumerate(everything):
        place.setdefault(address, index)
    message = b"".join(
        (
            bytes((_VERSION_0, len(signing), len(signed_readonly), len(readonly))),
            _list(address_bytes(address) for address in accounts),
            address_bytes(blockhash),
            _list(_instruction(one, place) for one in instructions),
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
    """The error for what one packet does not carry."""
    return failure(
        "transaction_too_large",
        f"The transaction would take {size} bytes of the {MAX_TRANSACTION_BYTES} that the network "
        "carries; use fewer accounts or a simpler route.",
        {"bytes": size},
    )


def _accounts_of(fee_payer: Address, instructions: Sequence[Instruction]) -> dict[Address, _Wanted]:
    """In the order in which they are named, the fee payer first."""
    wanted: dict[Address, _Wanted] = {fee_payer: _Wanted()}
    wanted[fee_payer].signer = wanted[fee_payer].writable = True
    for program, accounts, _ in instructions:
        wanted.setdefault(program, _Wanted()).invoked = True
        for address, signer, writable in accounts:
            one = wanted.setdefault(address, _Wanted())
            one.signer |= signer
            one.writable |= writable
    return wanted


def _look_up(wanted: dict[Address, _Wanted], tables: Sequence[LookupTable]) -> list[_Lookup]:
    """Takes the accounts that tables have out of those that the message names itself."""

    def take(table: LookupTable, writable: bool) -> list[tuple[Address, int]]:
        places: dict[Address, int] = {}
        for index, address in enumerate(table.addresses[:MAX_ACCOUNTS]):
            places.setdefault(address, index)
        found = [
            (address, places[address])
            for address, one in wanted.items()
            if not one.signer and not one.invoked and one.writable == writable and address in places
        ]
        for address, _ in found:
            del wanted[address]
        return found

    lookups = [_Lookup(table.address, take(table, True), take(table, False)) for table in tables]
    return [one for one in lookups if one.writable or one.readonly]


def _instruction(one: Instruction, place: Mapping[Address, int]) -> bytes:
    program, accounts, data = one
    indexes = _indexes(place[address] for address, _, _ in accounts)
    return bytes((place[program],)) + indexes + _length(len(data)) + data


def _list(items: Iterable[bytes]) -> bytes:
    every = list(items)
    return _length(len(every)) + b"".join(every)


def _indexes(items: Iterable[int]) -> bytes:
    every = bytes(items)
    return _length(len(every)) + every


def _length(count: int) -> bytes:
    """A compact-u16: seven bits a byte, the lowest first."""
    if count < 0x80:
        return bytes((count,))
    return bytes((count & 0x7F | 0x80,)) + _length(count >> 7)
