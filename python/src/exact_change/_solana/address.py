"""Addresses: the one canonical base58 spelling of 32 bytes."""

from __future__ import annotations

import re

from solders.pubkey import Pubkey
from typing_extensions import TypeGuard

from .._base.network import RESERVED_ADDRESSES

# A base58 public key.
Address = str

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# 32 bytes are 32 (all zero) to 44 digits. Checked before decoding, whose time grows with the
# square of the length.
_SHAPE = re.compile("[1-9A-HJ-NP-Za-km-z]{32,44}")
_DIGITS = {digit: value for value, digit in enumerate(ALPHABET)}

# Seen to be addresses: the same few are checked at every step.
_known: dict[str, bytes] = {}
_MOST = 1_000


def is_address(value: object) -> TypeGuard[Address]:
    """True for the one canonical base58 spelling of 32 bytes."""
    return isinstance(value, str) and _bytes_of(value) is not None


def address_bytes(address: Address) -> bytes:
    """The 32 bytes of an address. Raises ``TypeError`` on anything else."""
    data = _bytes_of(address)
    if data is None:
        raise TypeError("Not a Solana address.")
    return data


def address_of(data: bytes) -> Address:
    """The address of 32 bytes."""
    if len(data) != 32:
        raise TypeError(f"A Solana address is 32 bytes, not {len(data)}.")
    return str(Pubkey(data))


def is_reserved(address: Address) -> bool:
    """True for programs, sysvars and the incinerator: never a payee, a fee payer or a wallet."""
    return address in RESERVED_ADDRESSES


def base58_decode(text: str) -> bytes | None:
    """The bytes of base58 digits; None if one is none. Takes time with the square of them."""
    number = 0
    for digit in text:
        value = _DIGITS.get(digit)
        if value is None:
            return None
        number = number * 58 + value
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def base58_encode(data: bytes) -> str:
    """Bytes as base58 digits."""
    number = int.from_bytes(data, "big")
    digits = ""
    while number:
        number, digit = divmod(number, 58)
        digits = ALPHABET[digit] + digits
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + digits


def _bytes_of(text: str) -> bytes | None:
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
