"""What a wallet made of a message of ours before it signed: guards that only read may be added."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

from .._spec import table
from .message import DecodedMessage, DecodedTransaction, decode_message, decode_transaction

_spec: Mapping[str, Any] = table("wallets")
# The program that wallets guard their users with: its instructions compare accounts with what the
# wallet showed, and fail the transaction if they differ.
LIGHTHOUSE_PROGRAM: str = _spec["program"]
# Its instructions that only read, by their first byte: how many accounts each names.
_ACCOUNTS: Mapping[int, int] = {int(first): count for first, count in _spec["accounts"].items()}
# Log levels, the second byte, at which it calls no other program.
_QUIET = frozenset(_spec["quietLevels"])
_REFUSED: Mapping[int, str] = {int(first): rule for first, rule in _spec["refused"].items()}


class ChangeText(NamedTuple):
    """What a person reads of a rule."""

    id: str
    # The end of the sentence "The wallet changed the payment before it signed: ...".
    refuses: str
    # What could be done to the wallet without it, as a sentence.
    why: str


class AcceptedChange(NamedTuple):
    """What a wallet signed, and how many guards it has added."""

    signed: DecodedTransaction
    guards: int


class _Named(NamedTuple):
    """An instruction, its accounts by name: an address, or the place in a lookup table."""

    program: str
    accounts: Sequence[str]
    data: bytes


class _Message(NamedTuple):
    blockhash: str
    # The addresses that sign, in order, and whether each is writable.
    signers: Sequence[tuple[str, bool]]
    # The places in lookup tables, in order of their names, and whether each is writable.
    tables: Sequence[tuple[str, bool]]
    is_distinct: bool
    writable: Mapping[str, bool]
    guards: Sequence[_Named]
    # All other instructions.
    rest: Sequence[_Named]


_Passes = Callable[[_Message, _Message], bool]


def judge_change(message: bytes, wire: bytes) -> AcceptedChange | ChangeText:
    """Judges the transaction that a wallet gave back for a message of ours.

    It may have added guards that only read, anywhere, and read-only accounts for them. The trust is
    in the program of the guards: whether an account may be written or signs is said for the whole
    message, so a guard on the wallet has it as a signer.
    """
    before = _named(decode_message(message))
    if before is None:
        raise TypeError("Not a v0 message.")
    signed = decode_transaction(wire)
    after = None if signed is None else _named(signed.decoded)
    if signed is None or after is None:
        return _TEXTS["wallet_message"]
    for id_, passes in _RULES:
        if not passes(before, after):
            return _TEXTS[id_]
    return AcceptedChange(signed, len(after.guards))


def _first(guard: _Named) -> int:
    return guard.data[0] if guard.data else -1


def _each(passes: Callable[[_Named], bool]) -> _Passes:
    """A rule that each guard must pass."""
    return lambda _before, after: all(map(passes, after.guards))


def _is_no(first: int) -> _Passes:
    return _each(lambda guard: _first(guard) != first)


def _keeps_rights(before: _Message, after: _Message) -> bool:
    return all(may == before.writable.get(name, False) for name, may in after.writable.items())


def _has_a_use_for_all(before: _Message, after: _Message) -> bool:
    needed = {name for guard in after.guards for name in (guard.program, *guard.accounts)}
    return after.is_distinct and all(
        name in before.writable or name in needed for name in after.writable
    )


_TEXTS: Mapping[str, ChangeText] = {one["id"]: ChangeText(**one) for one in _spec["rules"]}
# In the order in which they are checked.
_RULES: Sequence[tuple[str, _Passes]] = (
    ("wallet_blockhash", lambda before, after: before.blockhash == after.blockhash),
    ("wallet_signers", lambda before, after: before.signers == after.signers),
    ("wallet_tables", lambda before, after: before.tables == after.tables),
    *((rule, _is_no(first)) for first, rule in _REFUSED.items()),
    ("wallet_guard", _each(lambda guard: _first(guard) in _ACCOUNTS)),
    (
        "wallet_guard_accounts",
        _each(lambda guard: _ACCOUNTS.get(_first(guard)) == len(guard.accounts)),
    ),
    ("wallet_guard_log", _each(lambda guard: len(guard.data) > 1 and guard.data[1] in _QUIET)),
    ("wallet_instructions", lambda before, after: before.rest == after.rest),
    ("wallet_rights", _keeps_rights),
    ("wallet_accounts", _has_a_use_for_all),
)


def _named(message: DecodedMessage | None) -> _Message | None:
    """None if there is no message, or an index in it is out of range."""
    if message is None:
        return None
    (signed, readonly_signed, readonly), keys = message.header, message.static_accounts
    own = [
        (name, at < signed - readonly_signed if at < signed else at < len(keys) - readonly)
        for at, name in enumerate(keys)
    ]
    loaded = [
        (f"{lookup.table}[{index}]", is_writable)
        for is_writable in (True, False)
        for lookup in message.lookups
        for index in (lookup.writable if is_writable else lookup.readonly)
    ]
    accounts = [*own, *loaded]
    instructions: list[_Named] = []
    for program, indexes, data in message.instructions:
        if max((program, *indexes)) >= len(accounts):
            return None
        names = [accounts[index][0] for index in indexes]
        instructions.append(_Named(accounts[program][0], names, data))
    writable = dict(accounts)
    return _Message(
        message.blockhash,
        own[:signed],
        sorted(loaded),
        len(writable) == len(accounts),
        writable,
        [one for one in instructions if one.program == LIGHTHOUSE_PROGRAM],
        [one for one in instructions if one.program != LIGHTHOUSE_PROGRAM],
    )
