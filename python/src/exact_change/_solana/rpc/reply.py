"""Reads the answers of nodes. Python's integers are exact, so other numbers are refused."""

from __future__ import annotations

from typing import Any, Mapping

from ..._base.amounts import U64_MAX, parse_amount
from ..._base.base64_text import decode_base64
from ..._base.js import stringify
from ..._base.json_types import is_integer, is_list, is_record, record_of
from ..._base.redact import redact
from ..address import Address, is_address
from .fault import Fault
from .types import Account, Commitment, LandedTransaction, SignatureStatus, TokenBalanceChange

# Characters; more than any error of a transaction has. A node may answer with megabytes.
_LONGEST_ERROR = 1_000
_COMMITMENTS: Mapping[str, Commitment] = {
    "processed": "processed",
    "confirmed": "confirmed",
    "finalized": "finalized",
}


def whole(value: object) -> int:
    """Returns a count, a slot or an amount of lamports."""
    if is_integer(value) and 0 <= value <= U64_MAX:
        return value
    raise Fault("invalid", "a number in it is not within 0 and 2^64")


def slot_in(result: Any, min_slot: int | None) -> int:
    """Returns the slot of an answer. Some nodes and proxies ignore the least slot."""
    slot = whole(record_of(record_of(result).get("context")).get("slot"))
    if slot < (min_slot or 0):
        raise Fault("unavailable", "it lags behind the slot that is needed")
    return slot


def values_in(result: Any, count: int) -> list[Any]:
    """Returns the list of an answer, which must have ``count`` entries."""
    values = record_of(result).get("value")
    if not is_list(values) or len(values) != count:
        raise Fault("invalid", "it has not as many entries as were asked for")
    return values


def raw_error(error: object) -> str | None:
    """Returns why a transaction failed, in the node's words, for code to judge."""
    return None if error is None else stringify(error)[:_LONGEST_ERROR]


def error_text(error: object) -> str | None:
    """Returns the text of :func:`raw_error` without secrets, to be shown."""
    return None if error is None else redact(stringify(error))[:_LONGEST_ERROR]


def read_account(value: Any) -> Account:
    """Reads an account in base64."""
    (text, encoding), owner, executable = value["data"], value["owner"], value["executable"]
    content = decode_base64(text) if encoding == "base64" else None
    if content is None or not is_address(owner) or not isinstance(executable, bool):
        raise Fault("invalid", "an account in it cannot be read")
    return Account(owner, whole(value["lamports"]), content, executable)


def read_status(value: Any) -> SignatureStatus:
    """Reads the status of a signature. A status without ``err`` does not prove success."""
    named = value.get("confirmationStatus")
    commitment = _COMMITMENTS.get(_counted_as(value) if named is None else named)
    if commitment is None:
        raise Fault("invalid", "its commitment is none")
    return SignatureStatus(whole(value["slot"]), commitment, error_text(value["err"]))


def _counted_as(value: Any) -> Commitment:
    """Infers the commitment for old nodes: they only count, and send null once it is final."""
    return "finalized" if value["confirmations"] is None else "processed"


def read_landed(value: Any) -> LandedTransaction:
    """Reads a transaction that landed, with its message in JSON."""
    meta = value["meta"]
    if meta is None:
        raise Fault("invalid", "the transaction comes without its effects")
    transaction = value["transaction"]
    loaded = record_of(meta.get("loadedAddresses"))
    accounts = [
        *transaction["message"]["accountKeys"],
        *loaded.get("writable", ()),
        *loaded.get("readonly", ()),
    ]
    if not all(map(is_address, accounts)):
        raise Fault("invalid", "an account of the transaction is none")
    before, after = meta["preBalances"], meta["postBalances"]
    lamports = {
        account: (whole(was), whole(is_)) for account, was, is_ in zip(accounts, before, after)
    }
    held = (meta.get("preTokenBalances"), meta.get("postTokenBalances"))
    return LandedTransaction(
        whole(value["slot"]),
        error_text(meta["err"]),
        [str(signature) for signature in transaction["signatures"]],
        whole(meta["fee"]),
        _token_changes(accounts, held[0] or [], held[1] or []),
        all(map(is_list, held)),
        lamports,
    )


def _token_changes(
    accounts: list[Address], before: list[Any], after: list[Any]
) -> list[TokenBalanceChange]:
    """Returns the changes. An account in one list only was opened or closed: else it holds 0."""
    changes: dict[tuple[int, str], TokenBalanceChange] = {}
    for balances, side in ((before, "before"), (after, "after")):
        for balance in balances:
            index, mint = whole(balance["accountIndex"]), balance["mint"]
            if index >= len(accounts) or not is_address(mint):
                raise Fault("invalid", "a token balance has no account")
            amount = parse_amount(record_of(balance.get("uiTokenAmount")).get("amount"))
            if amount is None:
                raise Fault("invalid", "a token balance is not an amount")
            empty = TokenBalanceChange(accounts[index], mint, 0, 0)
            known = changes.get((index, mint), empty)
            is_before = side == "before"
            changes[index, mint] = known._replace(
                before=amount if is_before else known.before,
                after=known.after if is_before else amount,
            )
    return list(changes.values())


def texts_in(value: object) -> list[str]:
    """Returns the lines of a log."""
    return [line for line in value if isinstance(line, str)] if is_list(value) else []


def object_in(value: object) -> Any:
    """Returns a JSON object; raises :class:`Fault` for any other value."""
    if not is_record(value):
        raise Fault("invalid", "it does not have the shape of an answer to this question")
    return value
