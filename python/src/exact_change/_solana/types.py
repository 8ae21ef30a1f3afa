"""Instructions and their accounts, in plain data."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .address import Address


class AccountMeta(NamedTuple):
    """An account in an instruction, with the rights that the instruction needs."""

    address: Address
    signer: bool
    writable: bool


class Instruction(NamedTuple):
    """An instruction in plain data."""

    program: Address
    accounts: Sequence[AccountMeta]
    data: bytes


class LookupTable(NamedTuple):
    """The contents of an address lookup table as the chain has them."""

    address: Address
    addresses: Sequence[Address]


class Lifetime(NamedTuple):
    """A blockhash and the last block height at which it is valid, from one reply of a node."""

    blockhash: str
    last_valid_block_height: int
    # The slot of the reply: the blockhash was valid then.
    slot: int
