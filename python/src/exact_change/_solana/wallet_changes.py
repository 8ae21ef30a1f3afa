"""Judges how a wallet changed a message before it signed: it may add guards that only read."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

from .._spec import table
from .message import DecodedMessage, DecodedTransaction, decode_message, decode_transaction

_spec: Mapping[str, Any] = table("wallets")
# The program with which wallets guard their users. Its instructions compare accounts with the
# values that the wallet showed, and fail the transaction if they differ.
LIGHTHOUSE_PROGRAM: str = _spec["program"]
# The guards that only read: first byte of the data, and the number of accounts.
_ACCOUNTS: Mapping[int, int] = {int(first): count for first, count in _spec["accounts"].items()}
# Log levels, in the second byte of the data, at which a guard calls no other program.
_QUIET = frozenset(_spec["quietLevels"])
# The instructions of the program that do more than read: first byte, and the rule's id.
_REFUSED: Mapping[int, str] = {int(first): rule for first, rule in _spec["refused"].items()}


class ChangeText(NamedTuple):
    """The texts of a rule, for people."""

    id: str
    # The end of the sentence "The wallet changed the payment before it signed: ...".
    refuses: str
    # The harm to the wallet that the rule prevents, as a sentence.
    why: str


class AcceptedChange(NamedTuple):
    """The transaction that a wallet signed, and the number of guards that it added."""

    signed: DecodedTransaction
    guards: int


class _Named(NamedTuple):
    """An instruction that refers to accounts by name: an address, or a table and an index."""

    program: str
    accounts: Sequence[str]
    data: bytes


class _Message(NamedTuple):
    """A message that names its accounts: by address, or by index in a lookup table."""

    blockhash: str
    # The addresses of the signers, in order, each with whether it is writable.
    signers: Sequence[tuple[str, bool]]
    # The accounts from lookup tables, sorted, each with whether it is writable.
    tables: Sequence[tuple[str, bool]]
    is_distinct: bool
    writable: Mapping[str, bool]
    guards: Sequence[_Named]
    # All other instructions.
    rest: Sequence[_Named]


_Passes = Callable[[_Message, _Message], bool]


def judge_change(message: bytes, wire: bytes) -> AcceptedChange | ChangeText:
    """Judges the transaction that a wallet returned for a message.

    The wallet may add guards that only read, at any position, and read-only accounts for them.
    The rules trust the guards' program. The rights to write and to sign hold for the whole message,
    so a guard on the wallet has the wallet as a signer.
    """
    before = _name_accounts(decode_message(message))
    if before is None:
        raise TypeError("Not a v0 message.")
    signed = decode_transaction(wire)
    after = None if signed is None else _name_accounts(signed.decoded)
    if signed is None or after is None:
        return _TEXTS["wallet_message"]
    for id_, passes in _RULES:
        if not passes(before, after):
            return _TEXTS[id_]
    return AcceptedChange(signed, len(after.guards))


def _first_byte(guard: _Named) -> int:
    return guard.data[0] if guard.data else -1


def _on_guards(passes: Callable[[_Named], bool]) -> _Passes:
    """Builds a rule that each guard must pass."""
    return lambda _before, after: all(map(passes, after.guards))


def _allows_no(first: int) -> _Passes:
    return _on_guards(lambda guard: _first_byte(guard) != first)


def _keeps_rights(before: _Message, after: _Message) -> bool:
    """Whether each account may be written as before; an added account must be read-only."""
    return all(
        is_writable == before.writable.get(name, False)
        for name, is_writable in after.writable.items()
    )


def _needs_every_account(before: _Message, after: _Message) -> bool:
    """Whether a guard needs each account that the wallet added, and no account comes twice."""
    needed = {name for guard in after.guards for name in (guard.program, *guard.accounts)}
    return after.is_distinct and all(
        name in before.writable or name in needed for name in after.writable
    )


_TEXTS: Mapping[str, ChangeText] = {text["id"]: ChangeText(**text) for text in _spec["rules"]}
# Rules for a changed transaction, in the order in which they are checked.
_RULES: Sequence[tuple[str, _Passes]] = (
    ("wallet_blockhash", lambda before, after: before.blockhash == after.blockhash),
    ("wallet_signers", lambda before, after: before.signers == after.signers),
    ("wallet_tables", lambda before, after: before.tables == after.tables),
    *((rule, _allows_no(first)) for first, rule in _REFUSED.items()),
    ("wallet_guard", _on_guards(lambda guard: _first_byte(guard) in _ACCOUNTS)),
    (
        "wallet_guard_accounts",
        _on_guards(lambda guard: _ACCOUNTS.get(_first_byte(guard)) == len(guard.accounts)),
    ),
    ("wallet_guard_log", _on_guards(lambda guard: len(guard.data) > 1 and guard.data[1] in _QUIET)),
    ("wallet_instructions", lambda before, after: before.rest == after.rest),
    ("wallet_rights", _keeps_rights),
    ("wallet_accounts", _needs_every_account),
)


def _name_accounts(message: DecodedMessage | None) -> _Message | None:
    """Names the accounts of a message; None if there is none, or an index is out of range."""
    if message is None:
        return None
    (signed, readonly_signed, readonly), keys = message.header, message.static_accounts
    static_accounts = [
        (name, at < signed - readonly_signed if at < signed else at < len(keys) - readonly)
        for at, name in enumerate(keys)
    ]
    loaded = [
        (f"{lookup.table}[{index}]", is_writable)
        for is_writable in (True, False)
        for lookup in message.lookups
        for index in (lookup.writable if is_writable else lookup.readonly)
    ]
    accounts = [*static_accounts, *loaded]
    instructions: list[_Named] = []
    for program, indexes, data in message.instructions:
        if max((program, *indexes)) >= len(accounts):
            return None
        names = [accounts[index][0] for index in indexes]
        instructions.append(_Named(accounts[program][0], names, data))
    writable = dict(accounts)
    return _Message(
        message.blockhash,
        static_accounts[:signed],
        sorted(loaded),
        len(writable) == len(accounts),
        writable,
        [named for named in instructions if named.program == LIGHTHOUSE_PROGRAM],
        [named for named in instructions if named.program != LIGHTHOUSE_PROGRAM],
    )
