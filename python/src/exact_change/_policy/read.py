"""Readers of single values in the caller's policy. All raise ``ConfigError``."""

from __future__ import annotations

from typing import Callable, Sequence, TypeVar, cast

from .._base.amounts import USD_DECIMALS, parse_ui_amount, to_amount
from .._base.network import pinned_mint
from .._base.options import refuse
from .._solana.address import Address, is_address

T = TypeVar("T")


def read_list(option: str, value: object, read: Callable[[str, object], T]) -> tuple[T, ...]:
    """Reads each entry of a list; ``read`` gets the entry's name, such as ``limits[2]``."""
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise refuse(option, "must be a list.")
    entries = cast("Sequence[object]", value)
    return tuple(read(f"{option}[{at}]", entry) for at, entry in enumerate(entries))


def read_usd(option: str, text: object) -> int:
    """Reads dollar text as millionths of a dollar."""
    value = parse_ui_amount(text, USD_DECIMALS)
    if value is None:
        raise refuse(
            option,
            'must be US dollars as text such as "0.25", with at most six decimals.',
        )
    return value


def read_units(option: str, amount: object, what: str) -> int:
    """Reads base units or lamports; ``what`` names them in the error."""
    value = to_amount(amount)
    if value is None:
        raise refuse(option, f"must be {what} as an int or a whole number as text.")
    return value


def read_address(option: str, address: object, what: str = "a base58 address") -> Address:
    """Reads a base58 address; ``what`` names it in the error."""
    if not is_address(address):
        raise refuse(option, f"must be {what}.")
    return address


def read_mint(option: str, mint: object, network: str) -> Address:
    """Reads a mint by its address or pinned symbol, and returns its address."""
    pinned = pinned_mint(network, mint) if isinstance(mint, str) else None
    return read_address(
        option,
        mint if pinned is None else pinned.mint,
        'a mint address or a pinned symbol such as "USDC"',
    )
