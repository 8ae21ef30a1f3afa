"""The records of changes that go along with the write of an attempt, in one step."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from ..attempts import owner_of
from ..balances import BalanceChange, Taken, changed, spending, taking
from ..process_locks import lock_name
from ..types import Along, Attempt, Hold, Owner
from .records import LogRecord
from .state import State


def balance_records(
    state: State, owner: Owner, account: str, change: BalanceChange
) -> list[LogRecord]:
    """Returns the record of a balance change; empty if the change has no effect."""
    balance = state.balance(owner, account)
    if changed(balance, change) == balance:
        return []
    return [{"balance": [owner.wallet, owner.network, account, change]}]


def drop_records(state: State, me: str, ids: Sequence[str]) -> list[LogRecord]:
    """Returns the record that releases a process's claims; empty if it has none of the ids."""
    claimed = [id_ for id_ in ids if me in state.claims.get(id_, ())]
    return [{"drop": claimed}] if claimed else []


def unlock_records(state: State, me: str, names: Sequence[str]) -> list[LogRecord]:
    """Returns the records that free locks; empty for locks that a process no longer has."""
    return [{"unlock": name} for name in names if state.locks.get(name) == me]


def along_records(
    state: State, me: str, id_: str, owner: Owner | None, along: Along
) -> list[LogRecord]:
    """Returns the records of claims and balances that go along with the write of an attempt.

    Without an owner, because the attempt is gone, it ends holds on the account of each owner.
    """
    records: list[LogRecord] = [{"claim": list(along.claim)}] if along.claim else []
    records += drop_records(state, me, along.drop)
    ends: list[tuple[str, BalanceChange]] = []
    if along.spend is not None:
        ends.append((along.spend[0], spending(id_, along.spend[1])))
    ends += [(account, {"release": id_}) for account in along.free]
    for account, change in ends:
        owners = [owner] if owner is not None else []
        if owner is None:
            owners = [known for known, name in state.balances if name == account]
        for account_owner in owners:
            records += balance_records(state, account_owner, account, change)
    return records


class HoldStep(NamedTuple):
    """Tokens that are held for an attempt."""

    taken: Taken
    records: Sequence[LogRecord]


def hold_step(state: State, attempt: Attempt, hold: Hold) -> HoldStep | None:
    """Holds tokens of an account for an attempt, if the balance and the locks allow it."""
    owner = owner_of(attempt)
    if lock_name(owner, hold.unless) in state.locks:
        return None
    balance = state.balance(owner, hold.account)
    decision = taking(balance, attempt["id"], int(attempt["amount"]), hold.fresh)
    if decision.taken is None:
        return None
    records = (
        []
        if decision.change is None
        else balance_records(state, owner, hold.account, decision.change)
    )
    return HoldStep(decision.taken, records)


def is_signed(before: Attempt | None, after: Attempt) -> bool:
    """Returns whether a change of an attempt records a new signed payment or swap.

    The transaction is sent next, so its record must be on the disk first.
    """

    def signatures(attempt: Attempt | None) -> tuple[str | None, str | None]:
        payment = None if attempt is None else attempt.get("payment")
        swap = None if attempt is None else attempt.get("swap")
        return (
            None if payment is None else payment["payerSignature"],
            None if swap is None else swap["signature"],
        )

    return signatures(before) != signatures(after)


def inverse_of(change: LogRecord, told: Sequence[LogRecord]) -> list[LogRecord]:
    """Returns records that restore the previous attempt and remove the jobs of its change."""
    return [change, *({"jobDone": record["job"]["id"]} for record in told if "job" in record)]
