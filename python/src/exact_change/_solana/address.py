"""Addresses: the canonical base58 form of 32 bytes."""

from __future__ import annotations

import re

from solders.pubkey import Pubkey
from typing_extensions import TypeGuard

from .._base.network import RESERVED_ADDRESSES

# A base58 public key.
Address = str

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# 32 bytes are 32 (all zero) to 44 base58 digits. The shape is checked before decoding, because
# the time to decode grows with the square of the length.
_SHAPE = re.compile("[1-9A-HJ-NP-Za-km-z]{32,44}")
_DIGITS = {digit: value for value, digit in enumerate(ALPHABET)}

# Known addresses with their bytes, because each step reads the same few addresses.
_known: dict[str, bytes] = {}
_MOST = 1_000


def is_address(value: object) -> TypeGuard[Address]:
    """Whether a value is the canonical base58 form of 32 bytes."""
    return isinstance(value, str) and _bytes_of(value) is not None


def address_bytes(address: Address) -> bytes:
    """Returns the 32 bytes of an address. Raises ``TypeError`` on anything else."""
    data = _bytes_of(address)
    if data is None:
        raise TypeError("Not a Solana address.")
    return data


def address_of(data: bytes) -> Address:
    """Returns the address with these 32 bytes."""
    if len(data) != 32:
        raise TypeError(f"A Solana address is 32 bytes, not {len(data)}.")
    return str(Pubkey(data))


def is_reserved(address: Address) -> bool:
    """Whether an address is a program, sysvar or incinerator: never a payee, payer or wallet."""
    return address in RESERVED_ADDRESSES


def base58_decode(text: str) -> bytes | None:
    """Decodes base58 digits; None for any other character.

    The time to decode grows with the square of the length.
    """
    number = 0
    for digit in text:
        value = _DIGITS.get(digit)
        if value is None:
            return None
        number = number * 58 + value
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def base58_encode(data: bytes) -> str:
    """Encodes bytes as base58 digits."""
    number = int.from_bytes(data, "big")
    digits = ""
    while number:
        number, digit = divmod(number, 58)
        digits = ALPHABET[digit] + digits
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + digits


def _bytes_of(text: str) -> bytes | None:
    """Returns the 32 bytes of an address; None if the text is no address."""
    known = _known.get(text)
    if known is not None:
        return known
    if _SHAPE.fullmatch(text) is None:
        return None
    try:
        key = Pubkey.from_string(text)
    except ValueError:
        return None
    if str(key) != text:
        return None
    data = bytes(key)
    if len(_known) >= _MOST:
        _known.clear()
    _known[text] = data
    return data
