"""Decodes mints and token accounts of both token programs."""

from __future__ import annotations

import struct
from collections import OrderedDict
from typing import NamedTuple, Sequence

from solders.pubkey import Pubkey
from typing_extensions import Literal

from .._base.network import ASSOCIATED_TOKEN_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from .._spec import table
from .address import Address, address_bytes, address_of
from .rpc.types import Account

State = Literal["initialized", "frozen"]


class Extension(NamedTuple):
    """An undecoded extension of a Token-2022 mint or account."""

    type: int
    value: bytes


class Mint(NamedTuple):
    """A mint on the chain, with the powers over a payment that its extensions give to others."""

    token_program: Address
    decimals: int
    # Names in their order on the chain; an unknown extension is `unknown:<type>`.
    extensions: Sequence[str]
    # Basis points withheld from every transfer: the higher of the current and the next fee.
    transfer_fee_bps: int
    # The program that every transfer calls.
    transfer_hook_program: Address | None
    # Whether every transfer is blocked now.
    paused: bool


class TokenAccount(NamedTuple):
    token_program: Address
    mint: Address
    owner: Address
    amount: int
    delegate: Address | None
    close_authority: Address | None
    state: State
    # Whether the account holds wrapped SOL.
    is_native: bool
    extensions: Sequence[str]
    # Whether a transfer to the account fails unless a memo comes right before it.
    requires_memo: bool
    # Whether a transfer to the account fails unless it is confidential.
    is_confidential: bool | None = None
    # Whether no other program may transfer the wallet's tokens of the account, as a swap does.
    has_cpi_guard: bool | None = None


_MINT_BYTES = 82
_ACCOUNT_BYTES = 165
# Token-2022 recognizes its multisigs by this length alone. It pads any other account that would
# have this length.
_MULTISIG_BYTES = 355
# Offset at which Token-2022 has the kind of account: mint or token account.
_KIND_AT = _ACCOUNT_BYTES
_MINT_KIND, _ACCOUNT_KIND = 1, 2
# Offset at which a confidential account's extension says whether it takes plain transfers.
_TAKES_PLAIN_AT = 262
# Offset at which a wrapped SOL account has the number of its lamports that are rent.
_RENT_AT = 113
_STATES: dict[int, State] = {1: "initialized", 2: "frozen"}
_EXTENSIONS: dict[int, list[object]] = {
    int(type_): known for type_, known in table("tokens")["extensions"].items()
}

_CACHE_ENTRIES = 1024
_derived: OrderedDict[tuple[str, str, str], Address] = OrderedDict()


def associated_token_address(owner: Address, mint: Address, token_program: Address) -> Address:
    """Derives the associated token account. The owner may be off the curve, such as a vault."""
    name = (owner, mint, token_program)
    account = _derived.get(name)
    if account is None:
        seeds = [address_bytes(owner), address_bytes(token_program), address_bytes(mint)]
        account = program_address(seeds, ASSOCIATED_TOKEN_PROGRAM)[0]
        _derived[name] = account
        if len(_derived) > _CACHE_ENTRIES:
            _derived.popitem(last=False)
    else:
        # The cache drops the account that was not used for longest.
        _derived.move_to_end(name)
    return account


def program_address(seeds: Sequence[bytes], program: Address) -> tuple[Address, int]:
    """Finds the first program derived address for these seeds, and its bump."""
    key, bump = Pubkey.find_program_address(list(seeds), Pubkey.from_string(program))
    return str(key), bump


def decode_mint(account: Account) -> Mint | None:
    """Decodes an initialised mint of either token program; None for anything else."""
    extensions = _extensions_of(account, _MINT_BYTES, _MINT_KIND)
    data = account.data
    if extensions is None or not _is_option(data, 0) or data[45] != 1 or not _is_option(data, 46):
        return None
    values = {extension_name(extension.type): extension.value for extension in extensions}
    default_state = values.get("defaultAccountState", b"\x01")[0]
    paused = values["pausable"][32] if "pausable" in values else 0
    if default_state not in _STATES or paused > 1:
        return None
    return Mint(
        account.owner,
        data[44],
        [extension_name(extension.type) for extension in extensions],
        _fee_bps(values.get("transferFeeConfig")),
        _optional_key(values.get("transferHook", b"")[32:]),
        paused == 1,
    )


def decode_token_account(account: Account) -> TokenAccount | None:
    """Decodes an initialised token account of either token program; None for anything else."""
    extensions = _extensions_of(account, _ACCOUNT_BYTES, _ACCOUNT_KIND)
    data = account.data
    if extensions is None:
        return None
    state = _STATES.get(data[108])
    if state is None or not all(_is_option(data, at) for at in (72, 109, 129)):
        return None
    values = {extension_name(extension.type): extension.value for extension in extensions}
    return TokenAccount(
        account.owner,
        address_of(data[0:32]),
        address_of(data[32:64]),
        _u64(data, 64),
        address_of(data[76:108]) if data[72] else None,
        address_of(data[133:165]) if data[129] else None,
        state,
        data[109] == 1,
        [extension_name(extension.type) for extension in extensions],
        values.get("memoTransfer", b"\0")[0] != 0,
        values.get("confidentialTransferAccount", b"\1" * 295)[_TAKES_PLAIN_AT] == 0 or None,
        values.get("cpiGuard", b"\0")[0] != 0 or None,
    )


def uncounted_lamports(account: Account, held: TokenAccount) -> int:
    """Returns the lamports that a wrapped SOL account holds beyond its rent and its amount.

    Any wallet may send such lamports, and any wallet may sync the account: then they are wrapped
    SOL.
    """
    if not held.is_native:
        return 0
    return max(0, account.lamports - _u64(account.data, _RENT_AT) - held.amount)


def extension_name(type_: int) -> str:
    """Returns the name of an extension type; ``unknown:<type>`` if it has no name here."""
    known = _EXTENSIONS.get(type_)
    return f"unknown:{type_}" if known is None else str(known[0])


def _extensions_of(account: Account, base_bytes: int, kind: int) -> list[Extension] | None:
    """Returns the extensions of an account with the expected program, length and kind.

    None if any of these differs. An account of the classic token program has no extensions.
    """
    data, owner = account.data, account.owner
    if owner not in (TOKEN_PROGRAM, TOKEN_2022_PROGRAM):
        return None
    if len(data) == base_bytes:
        return []
    if owner == TOKEN_PROGRAM or len(data) <= _KIND_AT or len(data) == _MULTISIG_BYTES:
        return None
    # A mint is padded with zeros to the length of an account, so that both have the kind at the
    # same offset.
    if data[_KIND_AT] != kind or any(data[base_bytes:_KIND_AT]):
        return None
    return read_extensions(data[_KIND_AT + 1 :])


def read_extensions(data: bytes) -> list[Extension] | None:
    """Reads entries of type (u16), length (u16) and value, to the end or to the trailing zeros.

    None if an entry is cut off, has a wrong length, or repeats a type.
    """
    found: dict[int, Extension] = {}
    offset = 0
    while offset < len(data) and any(data[offset:]):
        if offset + 4 > len(data):
            return None
        type_, length = struct.unpack_from("<HH", data, offset)
        end = offset + 4 + length
        known = _EXTENSIONS.get(type_, [])[1:]
        if type_ == 0 or end > len(data) or type_ in found or (known and known[0] != length):
            return None
        found[type_] = Extension(type_, data[offset + 4 : end])
        offset = end
    return list(found.values())


def _fee_bps(config: bytes | None) -> int:
    """Returns the fee.

    Layout: two authorities, withheld amount, then twice: epoch, maximum, fee.
    """
    if config is None:
        return 0
    return max(int.from_bytes(config[at : at + 2], "little") for at in (88, 106))


def _optional_key(data: bytes) -> Address | None:
    """Decodes an optional key: 32 zero bytes mean none."""
    return address_of(data) if any(data) else None


def _is_option(data: bytes, at: int) -> bool:
    """Whether the tag of an optional field is valid: four bytes of 0 or 1, before the value."""
    return data[at : at + 4] in (b"\0\0\0\0", b"\1\0\0\0")


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")
