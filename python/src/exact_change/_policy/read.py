"""Reading the caller's rules."""

from __future__ import annotations

from typing import Callable, Sequence, TypeVar, cast

from .._base.amounts import USD_DECIMALS, parse_ui_amount, to_amount
from .._base.network import pinned_mint
from .._base.options import refuse
from .._solana.address import Address, is_address

T = TypeVar("T")


def read_list(option: str, given: object, read: Callable[[str, object], T]) -> tuple[T, ...]:
    """The entries of a list, each read under its own name."""
    if isinstance(given, str) or not isinstance(given, (list, tuple)):
        raise refuse(option, "must be a list.")
    entries = cast("Sequence[object]", given)
    return tuple(read(f"{option}[{at}]", entry) for at, entry in enumerate(entries))


def read_usd(option: str, text: object) -> int:
    """Dollar text as millionths of a dollar."""
    value = parse_ui_amount(text, USD_DECIMALS)
    if value is None:
        raise refuse(
            option,
            'must be US dollars as a decimal string such as "0.25", with at most six decimals.',
        )
    return value


def read_units(option: str, amount: object, what: str) -> int:
    """Base units, or lamports."""
    value = to_amount(amount)
    if value is None:
        raise refuse(option, f"must be {what} as an int or a decimal string.")
    return value


def read_address(option: str, address: object, what: str = "a base58 address") -> Address:
    """An address."""
    if not is_address(address):
        raise refuse(option, f"must be {what}.")
    return address


def read_mint(option: str, mint: object, network: str) -> Address:
    """A mint by its address or pinned symbol."""
    pinned = pinned_mint(network, mint) if isinstance(mint, str) else None
    return read_address(
        option,
        mint if pinned is None else pinned.mint,
        'a mint address or a pinned symbol such as "USDC"',
    )
