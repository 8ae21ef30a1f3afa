"""Reads the calls between programs that a simulation shows."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from ..._base.json_types import is_list, is_record
from ..._base.network import SYSTEM_PROGRAM, TOKEN_PROGRAMS
from ..._spec import table
from ..address import Address, base58_decode, is_address
from .fault import Fault
from .reply import whole
from .types import InnerInstruction

_calls = table("tokens")["calls"]
_SYSTEM_NAMES: list[str] = _calls["system"]
_EARLY_NAMES: list[str] = _calls["token"]
_TOKEN_NAMES: dict[int, str] = {
    **dict(enumerate(_EARLY_NAMES)),
    **{int(number): name for number, name in _calls["lateToken"].items()},
}
_TRANSFER_FEE_EXTENSION = 26
_TRANSFER_CHECKED_WITH_FEE = 1
# Index at which a System instruction names the account that it creates.
_CREATED_AT = {"createAccount": 1, "createAccountWithSeed": 1, "createAccountAllowPrefund": 0}
# Base58 digits. Every instruction with a name above is shorter.
_LONGEST_NAMED = 256


class _Call(NamedTuple):
    name: str | None
    addresses: Sequence[Address]
    creates: Address | None


def read_inner(shown: object) -> list[InnerInstruction]:
    """Returns the calls between programs; raises :class:`Fault` if it cannot read a call."""
    if not is_list(shown):
        raise _unreadable()
    found: list[InnerInstruction] = []
    for group in shown:
        if not is_record(group) or not is_list(group.get("instructions")):
            raise _unreadable()
        outer = whole(group.get("index"))
        for call in group["instructions"]:
            if not is_record(call):
                raise _unreadable()
            program = _key(call.get("programId"))
            found.append(InnerInstruction(outer, program, *_read(program, call)))
    return found


def _read(program: Address, call: dict[str, Any]) -> _Call:
    is_named = program == SYSTEM_PROGRAM or program in TOKEN_PROGRAMS
    if "parsed" in call:
        parsed = call["parsed"]
        return _parsed(program, parsed) if is_named else _Call(None, _addresses(parsed), None)
    accounts, data = call.get("accounts"), call.get("data")
    if not is_list(accounts) or not isinstance(data, str):
        raise _unreadable()
    addresses = [_key(account) for account in accounts]
    name = _name_of(program, data) if is_named else None
    at = _CREATED_AT.get(name or "") if program == SYSTEM_PROGRAM else None
    creates = addresses[at] if at is not None and at < len(addresses) else None
    return _Call(name, addresses, creates)


def _parsed(program: Address, parsed: object) -> _Call:
    if not is_record(parsed) or not isinstance(parsed.get("type"), str):
        raise _unreadable()
    info = parsed.get("info")
    if not is_record(info) and not is_list(info):
        raise _unreadable()
    new = info.get("newAccount") if is_record(info) else None
    creates = new if program == SYSTEM_PROGRAM and is_address(new) else None
    return _Call(parsed["type"], _addresses(info), creates)


def _addresses(value: object) -> list[Address]:
    """Returns every address among the values, however deep: fields differ by instruction."""
    # The list grows during the loop: with recursion, a node could exhaust the stack.
    values: list[object] = [value]
    for nested in values:
        if is_record(nested):
            values.extend(nested.values())
        elif is_list(nested):
            values.extend(nested)
    return [address for address in values if is_address(address)]


def _key(value: object) -> Address:
    if not is_address(value):
        raise _unreadable()
    return value


def _name_of(program: Address, text: str) -> str | None:
    if len(text) > _LONGEST_NAMED:
        return None
    data = base58_decode(text)
    if data is None:
        raise _unreadable()
    if program == SYSTEM_PROGRAM:
        number = int.from_bytes(data[:4], "little")
        known = len(data) >= 4 and number < len(_SYSTEM_NAMES)
        return _SYSTEM_NAMES[number] if known else None
    if data[:2] == bytes((_TRANSFER_FEE_EXTENSION, _TRANSFER_CHECKED_WITH_FEE)):
        return "transferCheckedWithFee"
    return _TOKEN_NAMES.get(data[0]) if data else None


def _unreadable() -> Fault:
    return Fault("invalid", "a call between programs in it cannot be read")
