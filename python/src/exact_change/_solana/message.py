"""Decodes messages and transactions: one encoding for each message, no trailing bytes.

It shares no code with the compiler of messages, so that they cannot share an error.
"""

from __future__ import annotations

import functools
from typing import Callable, Mapping, NamedTuple, Sequence, TypeVar

from .address import Address, address_of, base58_encode
from .compile import MAX_ACCOUNTS, MAX_TRANSACTION_BYTES, SIGNATURE_BYTES, too_large
from .types import AccountMeta, Instruction, LookupTable

T = TypeVar("T")
_VERSION_0 = 0x80


class MessageHeader(NamedTuple):
    """Number of signers, and of read-only accounts among the signers and the other accounts."""

    num_required_signatures: int
    num_readonly_signed: int
    num_readonly_unsigned: int


class DecodedInstruction(NamedTuple):
    """An instruction that names its accounts by index."""

    program_index: int
    account_indexes: Sequence[int]
    data: bytes


class DecodedLookup(NamedTuple):
    """The indexes of the accounts that a message takes from a lookup table."""

    table: Address
    writable: Sequence[int]
    readonly: Sequence[int]


class DecodedMessage(NamedTuple):
    """A decoded v0 message; its indexes are not resolved yet."""

    header: MessageHeader
    static_accounts: Sequence[Address]
    blockhash: str
    instructions: Sequence[DecodedInstruction]
    lookups: Sequence[DecodedLookup]


class DecodedTransaction(NamedTuple):
    """A v0 transaction. ``message`` holds the signed bytes."""

    signatures: Sequence[bytes]
    message: bytes
    decoded: DecodedMessage


class _Malformed(Exception):
    """Raised for bytes that do not decode; never leaves this file."""


class _Cursor:
    """Reads bytes forward only, and never past the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offset = 0

    def take(self, length: int) -> bytes:
        end = self.offset + length
        if end > len(self.data):
            raise _Malformed
        part = self.data[self.offset : end]
        self.offset = end
        return part

    def byte(self) -> int:
        if self.offset >= len(self.data):
            raise _Malformed
        self.offset += 1
        return self.data[self.offset - 1]

    def length(self) -> int:
        """Reads a compact-u16 in its shortest form: the network rejects longer forms."""
        if self.data[self.offset : self.offset + 1] < b"\x80":
            return self.byte()
        value = 0
        for shift in (0, 7, 14):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte & 0x80:
                continue
            if (byte == 0 and shift > 0) or value > 0xFFFF:
                break
            return value
        raise _Malformed

    def list(self, read: Callable[[], T]) -> list[T]:
        return [read() for _ in range(self.length())]

    def indexes(self) -> Sequence[int]:
        return tuple(self.take(self.length()))

    def end(self) -> None:
        if self.offset != len(self.data):
            raise _Malformed


# The result is cached, because several checks decode the same message.
@functools.lru_cache(maxsize=16)
def decode_message(data: bytes) -> DecodedMessage | None:
    """Decodes a serialized v0 message with its version byte; None for anything else."""
    try:
        message = _read_message(_Cursor(data))
    except _Malformed:
        return None
    return message if _is_sane(message) else None


def _read_message(cursor: _Cursor) -> DecodedMessage:
    if cursor.byte() != _VERSION_0:
        raise _Malformed
    header = MessageHeader(cursor.byte(), cursor.byte(), cursor.byte())

    def key() -> Address:
        return address_of(cursor.take(32))

    def instruction() -> DecodedInstruction:
        return DecodedInstruction(cursor.byte(), cursor.indexes(), cursor.take(cursor.length()))

    def lookup() -> DecodedLookup:
        return DecodedLookup(key(), cursor.indexes(), cursor.indexes())

    message = DecodedMessage(
        header, cursor.list(key), key(), cursor.list(instruction), cursor.list(lookup)
    )
    cursor.end()
    return message


def _is_sane(message: DecodedMessage) -> bool:
    """Applies the network's first checks.

    The fee payer signs and is writable, each group fits into the accounts, and each lookup table
    brings an account.
    """
    signed, readonly_signed, readonly = message.header
    return (
        signed > readonly_signed
        and readonly <= len(message.static_accounts) - signed
        and all(lookup.writable or lookup.readonly for lookup in message.lookups)
    )


def decode_transaction(data: bytes) -> DecodedTransaction | None:
    """Decodes wire bytes: version 0, one encoding only, one signature for each signer."""
    if len(data) > MAX_TRANSACTION_BYTES:
        return None
    cursor = _Cursor(data)
    try:
        signatures = cursor.list(lambda: cursor.take(SIGNATURE_BYTES))
    except _Malformed:
        return None
    message = data[cursor.offset :]
    decoded = decode_message(message)
    if decoded is None or len(signatures) != decoded.header.num_required_signatures:
        return None
    return DecodedTransaction(signatures, message, decoded)


def assemble_transaction(message: bytes, signatures: Mapping[Address, bytes]) -> bytes:
    """Serializes a message with its signatures; a missing signature becomes 64 zero bytes."""
    signers = message_signers(message)
    for address, signature in signatures.items():
        if address not in signers:
            raise TypeError("A signature of an address that is not asked to sign.")
        if len(signature) != SIGNATURE_BYTES:
            raise TypeError(f"A signature is {SIGNATURE_BYTES} bytes, not {len(signature)}.")
    missing = bytes(SIGNATURE_BYTES)
    # One byte suffices for the count, because 19 signatures fill a packet.
    head = bytes((len(signers),)) + b"".join(signatures.get(key, missing) for key in signers)
    if len(head) + len(message) > MAX_TRANSACTION_BYTES:
        raise too_large(len(head) + len(message))
    return head + message


def message_signers(message: bytes) -> Sequence[Address]:
    """Returns the wallets that must sign, the fee payer first."""
    decoded = decode_message(message)
    if decoded is None:
        raise TypeError("Not a v0 message.")
    return decoded.static_accounts[: decoded.header.num_required_signatures]


def first_signature(data: bytes) -> str:
    """Returns the transaction's id: base58 of the fee payer's signature."""
    decoded = decode_transaction(data)
    if decoded is None:
        raise TypeError("Not a v0 transaction.")
    return base58_encode(decoded.signatures[0])


def resolve_instructions(
    message: DecodedMessage, tables: Sequence[LookupTable]
) -> list[Instruction] | None:
    """Returns the instructions with the addresses of their accounts.

    Returns None if an index is out of range, or a table is missing; if a program comes from a
    lookup table, is writable, or signs; or if an account or a table is named twice.
    """
    accounts = _resolve_accounts(message, tables)
    if accounts is None:
        return None
    instructions: list[Instruction] = []
    for program_index, indexes, data in message.instructions:
        if program_index >= len(message.static_accounts) or max(indexes, default=0) >= len(
            accounts
        ):
            return None
        program = accounts[program_index]
        # The network treats a writable program as read-only. Here it is refused, so that the
        # meaning is never guessed.
        if program.writable or program.signer:
            return None
        metas = [accounts[index] for index in indexes]
        instructions.append(Instruction(program.address, metas, data))
    return instructions


def _resolve_accounts(
    message: DecodedMessage, tables: Sequence[LookupTable]
) -> list[AccountMeta] | None:
    """Returns the accounts in the order of their indexes.

    Static accounts come first, then writable accounts of tables, then read-only accounts of tables.
    """
    (signed, readonly_signed, readonly), keys = message.header, message.static_accounts
    accounts = [
        AccountMeta(
            address,
            index < signed,
            index < signed - readonly_signed if index < signed else index < len(keys) - readonly,
        )
        for index, address in enumerate(keys)
    ]
    known: dict[Address, Sequence[Address]] = {}
    for table in tables:
        known.setdefault(table.address, table.addresses)
    for writable in (True, False):
        for lookup in message.lookups:
            addresses = known.get(lookup.table, ())
            for index in lookup.writable if writable else lookup.readonly:
                if index >= len(addresses):
                    return None
                accounts.append(AccountMeta(addresses[index], False, writable))
    names = [lookup.table for lookup in message.lookups]
    is_distinct = len({account.address for account in accounts}) == len(accounts)
    if len(accounts) > MAX_ACCOUNTS or not is_distinct or len(set(names)) != len(names):
        return None
    return accounts
