"""The instructions that this library makes, byte by byte."""

from __future__ import annotations

import struct
from typing import NamedTuple

from .._base.amounts import U64_MAX
from .._base.network import (
    ASSOCIATED_TOKEN_PROGRAM,
    COMPUTE_BUDGET_PROGRAM,
    MEMO_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_PROGRAM,
)
from ..errors import failure
from .address import Address
from .types import AccountMeta, Instruction


class OwnedAccount(NamedTuple):
    """A token account of a wallet, with its mint and token program."""

    address: Address
    mint: Address
    token_program: Address


def _readonly(address: Address) -> AccountMeta:
    return AccountMeta(address, False, False)


def _writable(address: Address) -> AccountMeta:
    return AccountMeta(address, False, True)


def _signer(address: Address, writable: bool = False) -> AccountMeta:
    return AccountMeta(address, True, writable)


def transfer_checked(
    source: Address,
    mint: Address,
    destination: Address,
    authority: Address,
    amount: int,
    decimals: int,
    token_program: Address,
) -> Instruction:
    """Transfers tokens; the chain rejects it unless the mint has these decimals."""
    if not 0 <= decimals <= 0xFF:
        raise _wrong("decimals are not within 0 and 255")
    accounts = [_writable(source), _readonly(mint), _writable(destination), _signer(authority)]
    data = struct.pack("<BQB", 12, _u64(amount), decimals)
    return Instruction(token_program, accounts, data)


def withdraw_excess_lamports(
    account: Address, destination: Address, authority: Address, token_program: Address
) -> Instruction:
    """Withdraws the lamports of a token account beyond its rent; fails for wrapped SOL."""
    accounts = [_writable(account), _writable(destination), _signer(authority)]
    return Instruction(token_program, accounts, bytes((38,)))


def create_token_account(payer: Address, owner: Address, account: OwnedAccount) -> Instruction:
    """Creates the associated token account unless it exists."""
    accounts = [
        *(_signer(payer, True), _writable(account.address), _readonly(owner)),
        *map(_readonly, (account.mint, SYSTEM_PROGRAM, account.token_program)),
    ]
    return Instruction(ASSOCIATED_TOKEN_PROGRAM, accounts, b"\x01")


def close_token_account(
    account: Address, destination: Address, authority: Address, token_program: Address
) -> Instruction:
    """Closes a token account and sends its lamports to ``destination``."""
    accounts = [_writable(account), _writable(destination), _signer(authority)]
    return Instruction(token_program, accounts, b"\x09")


def sync_native(account: Address) -> Instruction:
    """Sets the token balance of a wrapped SOL account to its lamports beyond the rent."""
    return Instruction(TOKEN_PROGRAM, [_writable(account)], b"\x11")


def revoke(account: Address, authority: Address, token_program: Address) -> Instruction:
    """Revokes any delegation of a token account."""
    return Instruction(token_program, [_writable(account), _signer(authority)], b"\x05")


def drop_close_authority(
    account: Address, authority: Address, token_program: Address
) -> Instruction:
    """Removes the close authority of a token account: then only its owner can close it."""
    return Instruction(token_program, [_writable(account), _signer(authority)], b"\x06\x03\x00")


def transfer_lamports(source: Address, destination: Address, lamports: int) -> Instruction:
    """Moves native SOL."""
    accounts = [_signer(source, True), _writable(destination)]
    return Instruction(SYSTEM_PROGRAM, accounts, struct.pack("<IQ", 2, _u64(lamports)))


def allocate_nothing(account: Address) -> Instruction:
    """Allocates no bytes: fails if another program owns the account, or if it has data."""
    return Instruction(SYSTEM_PROGRAM, [_signer(account, True)], struct.pack("<IQ", 8, 0))


def compute_unit_limit(units: int) -> Instruction:
    """Sets the most compute units that the transaction may use; the priority fee counts them."""
    if not 0 <= units <= 0xFFFF_FFFF:
        raise _wrong("a count is not within 0 and 2^32-1")
    return Instruction(COMPUTE_BUDGET_PROGRAM, [], struct.pack("<BI", 2, units))


def compute_unit_price(micro_lamports: int) -> Instruction:
    """Sets the priority fee, in micro-lamports for each compute unit of the limit."""
    data = struct.pack("<BQ", 3, _u64(micro_lamports))
    return Instruction(COMPUTE_BUDGET_PROGRAM, [], data)


def memo(text: str) -> Instruction:
    """Adds a note on the chain. It requires no signature."""
    return Instruction(MEMO_PROGRAM, [], text.encode())


def _u64(value: int) -> int:
    if not 0 <= value <= U64_MAX:
        raise _wrong("an amount is not within 0 and 2^64-1")
    return value


def _wrong(reason: str) -> Exception:
    return failure(
        "self_check_failed", f"Nothing was signed: {reason}. Report this.", {"reason": reason}
    )
