"""Amounts: integers of base units inside the library, strict decimal text outside, no floats."""

from __future__ import annotations

import re

U64_MAX = 2**64 - 1
# Decimals of a dollar amount inside the library.
USD_DECIMALS = 6
# Basis points of the whole.
WHOLE_BPS = 10_000

_BASE_UNITS = re.compile("(?:0|[1-9][0-9]{0,19})")
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,19})(?:\.([0-9]{1,18}))?")


def parse_amount(value: object) -> int | None:
    """Reads a strict decimal string of base units, 0 to 2**64-1; returns None for all else."""
    if not isinstance(value, str) or _BASE_UNITS.fullmatch(value) is None:
        return None
    amount = int(value)
    return amount if amount <= U64_MAX else None


def to_amount(value: object) -> int | None:
    """Reads an amount: an int or a decimal string of base units, 0 to 2**64-1; else None."""
    # In Python a bool is an int, but a bool is not an amount.
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value <= U64_MAX else None
    return parse_amount(value)


def parse_ui_amount(text: object, decimals: int) -> int | None:
    """Reads text such as ``"0.25"`` into base units.

    Returns None if the text is malformed or has more decimals than ``decimals``.
    """
    match = _DECIMAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    fraction = match[2] or ""
    if len(fraction) > decimals:
        return None
    return int(match[1] + fraction.ljust(decimals, "0"))


def format_ui_amount(amount: int, decimals: int) -> str:
    """Formats base units as decimal text: ``format_ui_amount(2500000, 6)`` is ``"2.5"``."""
    if amount < 0:
        return f"-{format_ui_amount(-amount, decimals)}"
    digits = str(amount).rjust(decimals + 1, "0")
    point = len(digits) - decimals
    fraction = digits[point:].rstrip("0")
    return f"{digits[:point]}.{fraction}" if fraction else digits[:point]


def format_usd(micro_usd: int) -> str:
    """Formats millionths of a dollar as text: ``1250000`` is ``"1.25"``."""
    return format_ui_amount(micro_usd, USD_DECIMALS)


def ceil_div(numerator: int, denominator: int) -> int:
    """Returns the quotient, rounded up. Both numbers must be positive."""
    return -(-numerator // denominator)


def is_digits(value: object) -> bool:
    """Returns whether the value is a non-empty string of ASCII digits, of any length."""
    return isinstance(value, str) and value.isascii() and value.isdigit()
