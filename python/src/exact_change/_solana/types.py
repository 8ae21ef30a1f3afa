"""Instructions and their accounts, in plain data."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .address import Address


class AccountMeta(NamedTuple):
    """An account as an instruction names it."""

    address: Address
    signer: bool
    writable: bool


class Instruction(NamedTuple):
    """One instruction."""

    program: Address
    accounts: Sequence[AccountMeta]
    data: bytes


class LookupTable(NamedTuple):
    """The contents of an address lookup table, as fetched by us."""

    address: Address
    addresses: Sequence[Address]


class Lifetime(NamedTuple):
    """A blockhash and the last block height at which it counts; one pair from one reply."""

    blockhash: str
    last_valid_block_height: int
    # As of which it was valid.
    slot: int
